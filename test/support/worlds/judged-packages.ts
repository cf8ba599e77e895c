// Questions about the packages of this checkout, with the packages that a person would want to find. Packages that the checkout
// does not have are left out, and questions without any.

export type Judged = readonly (readonly [question: string, wanted: readonly string[]])[]

/** What people type who know the name: whole, in another case, mistyped, unfinished. */
export const NAMED: Judged = [
  ['express', ['express']],
  ['Express', ['express']],
  ['glob', ['glob']],
  ['yaml', ['yaml']],
  ['debug', ['debug']],
  ['cookie', ['cookie']],
  ['ms', ['ms']],
  ['send', ['send']],
  ['long', ['long']],
  ['once', ['once']],
  ['lru cache', ['lru-cache']],
  ['lru-cache', ['lru-cache']],
  ['color name', ['color-name']],
  ['http errors', ['http-errors']],
  ['escape html', ['escape-html']],
  ['path to regexp', ['path-to-regexp']],
  ['types express', ['@types/express']],
  ['expres', ['express']],
  ['pretier', ['prettier']],
  ['handlebar', ['handlebars']],
]

/** What people type who look for something of a kind. */
export const DESCRIBED: Judged = [
  ['web framework', ['express']],
  ['image processing', ['sharp']],
  ['json logger', ['pino']],
  ['test framework', ['mocha', 'chai']],
  ['code formatter', ['prettier']],
  ['command line arguments', ['yargs', 'minimist', 'commander', 'argparse', 'yargs-parser', 'rc']],
  ['querystring parser', ['qs']],
  ['http cookie', ['cookie', 'cookie-signature']],
  ['semantic version', ['semver']],
  ['static file server', ['send', 'serve-static']],
  ['multipart form data', ['multer', 'busboy', 'formdata-polyfill', 'append-field']],
  ['csv parser', ['csv-parse']],
  ['vector search', ['usearch', 'faiss-node']],
  ['html parser', ['htmlparser2', 'linkedom', 'parseley']],
  ['yaml parser', ['yaml', 'js-yaml', 'yaml-ast-parser']],
  ['terminal colors', ['picocolors', 'colorette', 'ansi-colors']],
  ['full text search', ['minisearch']],
  ['protocol buffers', ['protobufjs', '@grpc/proto-loader']],
  ['json schema validator', ['ajv', '@redocly/ajv']],
  ['tar archive', ['tar-stream', 'tar-fs']],
  ['zip', ['adm-zip']],
  ['jwt', ['jwa', 'jws', 'google-auth-library']],
  ['mime type', ['mime-types', 'mime-db', 'media-typer', 'content-type', 'type-is']],
  ['levenshtein', ['leven', 'js-levenshtein']],
  ['edit distance', ['leven', 'js-levenshtein']],
  ['file watcher', ['chokidar']],
  ['pdf', ['pdfjs-dist']],
  ['onnx', ['onnxruntime-node', 'onnxruntime-common']],
  ['deep equal', ['fast-deep-equal', '@types/deep-eql']],
  ['proxy agent', ['https-proxy-agent', 'agent-base', 'global-agent']],
]

/** How well lists of answers meet their questions. */
export interface Figures {
  /** The mean of 1 / the rank of the first wanted answer. */
  readonly mrr: number
  /** The mean share of wanted answers among the first ten. */
  readonly recall: number
}

/** `answer` gives the ten best. */
export function judge(
  judged: Judged,
  known: ReadonlySet<string>,
  answer: (question: string) => readonly string[],
): Figures & { readonly questions: number } {
  let [reciprocal, recall, questions] = [0, 0, 0]
  for (const [question, all] of judged) {
    const wanted = all.filter((name) => known.has(name))
    if (wanted.length === 0) continue
    const answers = answer(question)
    const first = answers.findIndex((name) => wanted.includes(name))
    reciprocal += first < 0 ? 0 : 1 / (first + 1)
    recall += answers.filter((name) => wanted.includes(name)).length / wanted.length
    questions += 1
  }
  return { questions, mrr: reciprocal / questions, recall: recall / questions }
}
