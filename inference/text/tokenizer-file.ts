// Reads tokenizer.json and tokenizer_config.json of a model directory. The files are not trusted:
// each gives a tokenizer of bounded memory, or a refusal that names the unsupported part.

import { ServiceError } from '../../lib/errors.ts'
import { isJsonRecord } from '../../lib/json-record.ts'
import type { JsonRecord } from '../../lib/json-record.ts'
import { isListOf, isText, isWhole } from './json-values.ts'
import { checkComponents } from './tokenizer-components.ts'
import type { ComponentStage } from './tokenizer-components.ts'

/** The largest tokenizer.json in wide use has 34 MB. The limit also bounds its characters. */
export const TOKENIZER_JSON_BYTES_MAX = 64 * 1024 * 1024
export const TOKENIZER_CONFIG_BYTES_MAX = 8 * 1024 * 1024
/** Every token id is below this. */
export const VOCABULARY_IDS_MAX = 2_000_000
const ADDED_TOKENS_MAX = 32_768
const TOKEN_CHARS_MAX = 4096
/**
 * The most pieces that are prefixes of one another: each place of a text makes a node for each of
 * them.
 */
const UNIGRAM_CHAIN_MAX = 64

/** The supported kinds of tokenizer models. */
export type TokenizerModelType = 'WordPiece' | 'BPE' | 'Unigram'

/** One entry of `added_tokens`. */
export interface AddedTokenRecord {
  readonly id: number
  readonly content: string
  readonly special: boolean
  readonly lstrip: boolean
  readonly rstrip: boolean
  readonly isSingleWord: boolean
  /** True: the token is normalized, and searched for in normalized text. */
  readonly isNormalized: boolean
}

/** The checked contents of both files. */
export interface TokenizerFile {
  /** The components by their fields; null for those that the file leaves out. */
  readonly tokenizer: JsonRecord
  /** The model with its type, also where the file leaves the type out. */
  readonly model: JsonRecord
  readonly config: JsonRecord
  readonly modelType: TokenizerModelType
  readonly addedTokens: readonly AddedTokenRecord[]
  readonly patternStages: ReadonlySet<ComponentStage>
  /** Differences from the reference implementation, as sentences for the log. */
  readonly warnings: readonly string[]
}

/**
 * The contents of tokenizer.json and of tokenizer_config.json; undefined where the model has none.
 */
export interface TokenizerTexts {
  readonly tokenizerJson: string
  readonly tokenizerConfig: string | undefined
}

/** Parses and checks both files. Throws INVALID_ARGUMENT for malformed or unsupported contents. */
export function parseTokenizerFile(texts: TokenizerTexts): TokenizerFile {
  const file = parseRecord('tokenizer.json', texts.tokenizerJson, TOKENIZER_JSON_BYTES_MAX)
  const config =
    texts.tokenizerConfig === undefined
      ? {}
      : parseRecord('tokenizer_config.json', texts.tokenizerConfig, TOKENIZER_CONFIG_BYTES_MAX)
  const model = file['model']
  if (!isJsonRecord(model)) throw refusal('"model" must be an object')
  const modelType = modelTypeOf(model)
  checkModel(modelType, model)
  const addedTokens = parseAddedTokens(file['added_tokens'] ?? [])
  const findings = checkComponents(file)
  return {
    tokenizer: {
      normalizer: file['normalizer'] ?? null,
      pre_tokenizer: file['pre_tokenizer'] ?? null,
      post_processor: file['post_processor'] ?? null,
      decoder: file['decoder'] ?? null,
    },
    model: completeModel(modelType, model),
    config,
    modelType,
    addedTokens,
    patternStages: findings.patternStages,
    warnings: warningsOf(file, config, model),
  }
}

function parseRecord(name: string, text: string, charsMax: number): JsonRecord {
  if (text.length > charsMax) {
    throw new ServiceError('INVALID_ARGUMENT', `${name} has more than ${charsMax} characters`)
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new ServiceError('INVALID_ARGUMENT', `${name} is not JSON`, { cause: error })
  }
  if (!isJsonRecord(value)) {
    throw new ServiceError('INVALID_ARGUMENT', `${name} must hold an object`)
  }
  return value
}

/** Older files leave the type out. The fields of the model then show it. */
function modelTypeOf(model: JsonRecord): TokenizerModelType {
  const { type } = model
  if (type === 'WordPiece' || type === 'BPE' || type === 'Unigram') return type
  if (type !== undefined) {
    throw refusal(
      `tokenizer models of type ${JSON.stringify(type)} are not supported; WordPiece, BPE and Unigram are`,
    )
  }
  if (Array.isArray(model['vocab'])) return 'Unigram'
  if (Array.isArray(model['merges'])) return 'BPE'
  if ('continuing_subword_prefix' in model) return 'WordPiece'
  throw refusal('"model.type" is missing; WordPiece, BPE and Unigram are supported')
}

function completeModel(type: TokenizerModelType, model: JsonRecord): JsonRecord {
  if (type !== 'WordPiece') return { ...model, type }
  const prefix = model['continuing_subword_prefix'] ?? '##'
  return { ...model, type, continuing_subword_prefix: prefix }
}

const modelChecks: Record<TokenizerModelType, (model: JsonRecord) => void> = {
  WordPiece: checkWordPiece,
  BPE: checkBpe,
  Unigram: checkUnigram,
}

function checkModel(type: TokenizerModelType, model: JsonRecord): void {
  modelChecks[type](model)
}

function checkWordPiece(model: JsonRecord): void {
  const vocab = checkVocabulary(model['vocab'])
  const unknown = model['unk_token']
  if (!isText(unknown) || !isWhole(vocab[unknown])) {
    throw refusal('"model.unk_token" must be a token of the vocabulary')
  }
  const charsMax = model['max_input_chars_per_word'] ?? 100
  if (!isWhole(charsMax) || charsMax < 1 || charsMax > 1000) {
    throw refusal('"model.max_input_chars_per_word" must be from 1 to 1000')
  }
}

function checkBpe(model: JsonRecord): void {
  const vocab = checkVocabulary(model['vocab'])
  const unknown = model['unk_token'] ?? null
  if (unknown !== null && (!isText(unknown) || !isWhole(vocab[unknown]))) {
    throw refusal('"model.unk_token" must be a token of the vocabulary')
  }
  if ((model['continuing_subword_prefix'] ?? '') !== '') {
    throw refusal('"model.continuing_subword_prefix" is supported for WordPiece, not for BPE')
  }
  const merges = model['merges']
  if (!isListOf(merges, isText) && !isListOf(merges, isPair)) {
    throw refusal('"model.merges" must be a list of pairs')
  }
}

/** The differences between a served tokenizer and the reference implementation. */
function warningsOf(file: JsonRecord, config: JsonRecord, model: JsonRecord): string[] {
  const { dropout } = model
  const drops = typeof dropout === 'number' && dropout > 0
  const lowers = config['do_lowercase_and_remove_accent'] === true
  return [
    ...(drops ? ['"model.dropout" is ignored: the same text has the same tokens every time'] : []),
    ...(lowers
      ? ['texts are put into lower case without accents, as tokenizer_config.json says']
      : []),
    ...(omitsCharacters(file, model)
      ? ['characters without a token are left out; the texts beside them are not merged']
      : []),
  ]
}

/**
 * The reference merges the texts on both sides of a character that it leaves out. Byte-level
 * tokenizers leave out nothing.
 */
function omitsCharacters(file: JsonRecord, model: JsonRecord): boolean {
  const hasUnknown = isText(model['unk_token']) || model['byte_fallback'] === true
  return Array.isArray(model['merges']) && !hasUnknown && !spellsBytes(file['pre_tokenizer'])
}

function spellsBytes(preTokenizer: unknown): boolean {
  if (!isJsonRecord(preTokenizer)) return false
  const { type, pretokenizers: members } = preTokenizer
  return type === 'ByteLevel' || (Array.isArray(members) && members.some(spellsBytes))
}

function isPair(value: unknown): value is readonly string[] {
  return isListOf(value, isText) && value.length === 2
}

function checkVocabulary(vocab: unknown): JsonRecord {
  if (!isJsonRecord(vocab)) throw refusal('"model.vocab" must be an object')
  for (const [token, id] of Object.entries(vocab)) checkTokenId(token, id)
  return vocab
}

function checkTokenId(token: string, id: unknown): void {
  if (!isWhole(id) || id < 0 || id >= VOCABULARY_IDS_MAX) {
    throw refusal(`the id of a token must be a whole number below ${VOCABULARY_IDS_MAX}`)
  }
  if (token.length > TOKEN_CHARS_MAX) {
    throw refusal(`a token has more than ${TOKEN_CHARS_MAX} characters`)
  }
}

function checkUnigram(model: JsonRecord): void {
  const vocab = model['vocab']
  if (!isListOf(vocab, isPiece) || vocab.length === 0 || vocab.length > VOCABULARY_IDS_MAX) {
    throw refusal('"model.vocab" must be a list of pairs of a piece and its score')
  }
  const unknownId = model['unk_id']
  if (!isWhole(unknownId) || unknownId < 0 || unknownId >= vocab.length) {
    throw refusal('"model.unk_id" must be the index of a piece')
  }
  checkChains(vocab.map(([piece]) => piece))
}

function isPiece(value: unknown): value is readonly [string, number] {
  return Array.isArray(value) && isText(value[0]) && typeof value[1] === 'number'
}

/**
 * In sorted order, a piece follows its prefixes directly or after pieces with the same prefixes.
 */
function checkChains(pieces: readonly string[]): void {
  const chain: string[] = []
  for (const piece of pieces.toSorted()) {
    if (piece.length > TOKEN_CHARS_MAX) {
      throw refusal(`a piece has more than ${TOKEN_CHARS_MAX} characters`)
    }
    while (chain.length > 0 && !piece.startsWith(chain.at(-1) ?? '')) chain.pop()
    chain.push(piece)
    if (chain.length > UNIGRAM_CHAIN_MAX) {
      throw refusal(`more than ${UNIGRAM_CHAIN_MAX} pieces are prefixes of one another`)
    }
  }
}

function parseAddedTokens(tokens: unknown): AddedTokenRecord[] {
  if (!isListOf(tokens, isJsonRecord) || tokens.length > ADDED_TOKENS_MAX) {
    throw refusal(`"added_tokens" must be a list of at most ${ADDED_TOKENS_MAX} tokens`)
  }
  return tokens.map((token) => {
    const { id, content } = token
    if (!isText(content) || content === '') {
      throw refusal('the "content" of an added token must be a text that is not empty')
    }
    checkTokenId(content, id)
    const special = token['special'] === true
    return {
      id: Number(id),
      content,
      special,
      lstrip: token['lstrip'] === true,
      rstrip: token['rstrip'] === true,
      isSingleWord: token['single_word'] === true,
      isNormalized: isFlag(token['normalized']) ? token['normalized'] : !special,
    }
  })
}

function isFlag(value: unknown): value is boolean {
  return typeof value === 'boolean'
}

function refusal(problem: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `tokenizer.json: ${problem}`)
}
