// Parses a model directory of any kind into the specs of its variants.

import { assert } from '../../lib/assert.ts'
import { graphsOf, parseMaxTokens, specBase } from './model-directory.ts'
import type { ModelDirectory } from './model-directory.ts'
import { refuse } from './model-files.ts'
import type { ModelFiles } from './model-files.ts'
import type { ChunkerSpec, ModelKind, ModelSpec, RerankerSpec } from './model-spec.ts'
import { parseEmbedder } from './parse-embedder.ts'
import { parseGenerator } from './parse-generator.ts'
import { parseRecognizer } from './parse-recognizer.ts'
import { parseRewriter } from './parse-rewriter.ts'

type Parser = (directory: ModelDirectory) => Promise<readonly ModelSpec[]>

const PARSER_BY_KIND: Readonly<Record<ModelKind, Parser>> = {
  embedder: parseEmbedder,
  chunker: parseChunker,
  reranker: parseReranker,
  generator: parseGenerator,
  recognizer: parseRecognizer,
  rewriter: parseRewriter,
}

/** At least one spec. Rejects with INVALID_ARGUMENT and the reason if the model cannot be served. */
export async function parseModel(
  kind: ModelKind,
  name: string,
  files: ModelFiles,
): Promise<readonly ModelSpec[]> {
  await checkManifest(files)
  if (!files.has('tokenizer.json')) throw refuse('tokenizer.json is missing')
  const config = await files.config('config.json')
  const specs = await PARSER_BY_KIND[kind]({ name, files, config })
  assert(specs.length > 0, 'a parser refuses a directory without graphs')
  return specs
}

/** Refuses a manifest with paths outside of the directory: no exporter writes them. */
async function checkManifest(files: ModelFiles): Promise<void> {
  const manifest = await files.json('manifest.json')
  if (typeof manifest !== 'object' || manifest === null || !('files' in manifest)) return
  const entries: readonly unknown[] = Array.isArray(manifest.files) ? manifest.files : []
  for (const entry of entries) {
    const name =
      typeof entry === 'object' && entry !== null && 'name' in entry ? entry.name : undefined
    const isSafe =
      typeof name === 'string' &&
      !/^[/\\]|^[A-Za-z]:|\\/.test(name) &&
      !name.split('/').includes('..')
    if (!isSafe) throw refuse('manifest.json names a file outside of the directory')
  }
}

async function parseReranker(directory: ModelDirectory): Promise<readonly RerankerSpec[]> {
  const maxTokens = await parseMaxTokens(directory)
  const graphs = graphsOf(directory.files, ['model', 'cross_encoder', 'reranker'])
  return graphs.map(({ variant, file }) => ({
    kind: 'reranker',
    ...specBase(directory, variant, { graphFiles: [file], maxTokens }),
    graphFile: file,
  }))
}

async function parseChunker(directory: ModelDirectory): Promise<readonly ChunkerSpec[]> {
  const maxTokens = await parseMaxTokens(directory)
  const labels = directory.config.labels('id2label') ?? ['O', 'B-SEP', 'I-SEP']
  const graphs = graphsOf(directory.files, ['model', 'chunker', 'sentence_boundary'])
  return graphs.map(({ variant, file }) => ({
    kind: 'chunker',
    ...specBase(directory, variant, { graphFiles: [file], maxTokens }),
    graphFile: file,
    labels,
  }))
}
