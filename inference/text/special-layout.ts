// The places of a tokenizer's special tokens, read from the post-processor of tokenizer.json.
//
//   single   [CLS] first [SEP]
//   pair     [CLS] first [SEP] second [SEP]
//
// The layout is data that `fit` applies to ids, because the library's own post-processing supports
// neither truncation nor a pair with an empty second text.

import { ServiceError } from '../../lib/errors.ts'
import { isJsonRecord } from '../../lib/json-record.ts'
import type { JsonRecord } from '../../lib/json-record.ts'
import { isListOf, isText, isWhole } from './json-values.ts'
import { VOCABULARY_IDS_MAX } from './tokenizer-file.ts'

/** One part of an input: a special token, or the place of a text. */
export type LayoutPart =
  | { readonly kind: 'special'; readonly id: number; readonly typeId: number }
  | { readonly kind: 'sequence'; readonly of: 'first' | 'second'; readonly typeId: number }

/** The layouts of a single text and of a pair. Each text occurs once in its layout. */
export interface SpecialLayout {
  readonly single: readonly LayoutPart[]
  readonly pair: readonly LayoutPart[]
}

/** Real templates add at most four. Every input holds them all, so their number is limited. */
const PARTS_MAX = 64

const FIRST: LayoutPart = { kind: 'sequence', of: 'first', typeId: 0 }
const BARE: SpecialLayout = {
  single: [FIRST],
  pair: [FIRST, { kind: 'sequence', of: 'second', typeId: 1 }],
}
const TYPE_ID_MAX = 255

/**
 * Reads the layout; without a post-processor, texts have no special tokens. Throws INVALID_ARGUMENT
 * for a post-processor that is malformed or not supported.
 */
export function parseSpecialLayout(postProcessor: unknown): SpecialLayout {
  if (postProcessor === null || postProcessor === undefined) return BARE
  if (!isJsonRecord(postProcessor)) throw refusal('post_processor must be an object')
  switch (postProcessor['type']) {
    case 'ByteLevel':
      return BARE
    case 'TemplateProcessing':
      return parseTemplates(postProcessor)
    case 'BertProcessing':
      return buildBertLayout(postProcessor)
    case 'RobertaProcessing':
      return buildRobertaLayout(postProcessor)
    case 'Sequence':
      return parseSequence(postProcessor)
    default:
      throw refusal(`post_processor type ${JSON.stringify(postProcessor['type'])} is not supported`)
  }
}

/**
 * ByteLevel members only change offsets, so the layout comes from the one member that adds tokens.
 */
function parseSequence(sequence: JsonRecord): SpecialLayout {
  const processors = sequence['processors']
  if (!isListOf(processors, isJsonRecord)) throw refusal('post_processor.processors must be a list')
  const adding = processors.filter(({ type }) => type !== 'ByteLevel')
  if (adding.length > 1) throw refusal('two post-processors that add tokens are not supported')
  const [only] = adding
  if (only?.['type'] === 'Sequence') throw refusal('nested post-processors are not supported')
  return parseSpecialLayout(only)
}

function parseTemplates(processor: JsonRecord): SpecialLayout {
  const specials = processor['special_tokens']
  const idsOf = (name: unknown): readonly number[] => {
    const special = isJsonRecord(specials) && isText(name) ? specials[name] : undefined
    const ids = isJsonRecord(special) ? special['ids'] : undefined
    if (!isListOf(ids, isTokenId) || ids.length > PARTS_MAX) {
      throw refusal(`special token ${JSON.stringify(name)} has no ids that could be a token's`)
    }
    return ids
  }
  const single = parseTemplate(processor['single'], idsOf)
  const pair = parseTemplate(processor['pair'], idsOf)
  if (sequencesIn(single) !== 'first') throw refusal('"single" must have the text once')
  if (!['first second', 'second first'].includes(sequencesIn(pair))) {
    throw refusal('"pair" must have each of the two texts once')
  }
  return { single, pair }
}

/** The texts of a layout in order, as `first`, `second` or both. */
function sequencesIn(layout: readonly LayoutPart[]): string {
  return layout.flatMap((part) => (part.kind === 'sequence' ? [part.of] : [])).join(' ')
}

function parseTemplate(
  template: unknown,
  idsOf: (name: unknown) => readonly number[],
): LayoutPart[] {
  if (!isListOf(template, isJsonRecord)) throw refusal('a template must be a list of objects')
  if (template.length > PARTS_MAX) throw refusal(`a template has more than ${PARTS_MAX} parts`)
  const parts = template.flatMap((item): LayoutPart[] => {
    const { SpecialToken: special, Sequence: sequence } = item
    if (isJsonRecord(special)) {
      const typeId = typeIdOf(special)
      return idsOf(special['id']).map((id) => ({ kind: 'special', id, typeId }))
    }
    if (isJsonRecord(sequence)) {
      const of = sequence['id'] === 'B' ? 'second' : 'first'
      return [{ kind: 'sequence', of, typeId: typeIdOf(sequence) }]
    }
    throw refusal('a template item must be a SpecialToken or a Sequence')
  })
  if (parts.length > PARTS_MAX) throw refusal(`a template adds more than ${PARTS_MAX} tokens`)
  return parts
}

/** Most models have two token types; some have a third for the first token. */
function typeIdOf(item: JsonRecord): number {
  const typeId = item['type_id'] ?? 0
  if (isWhole(typeId) && typeId >= 0 && typeId <= TYPE_ID_MAX) return typeId
  throw refusal(`a "type_id" must be from 0 to ${TYPE_ID_MAX}`)
}

function buildBertLayout(processor: JsonRecord): SpecialLayout {
  const cls: LayoutPart = { kind: 'special', id: idOfTokenPair(processor, 'cls'), typeId: 0 }
  const sep = idOfTokenPair(processor, 'sep')
  const single: LayoutPart[] = [cls, FIRST, { kind: 'special', id: sep, typeId: 0 }]
  return {
    single,
    pair: [
      ...single,
      { kind: 'sequence', of: 'second', typeId: 1 },
      { kind: 'special', id: sep, typeId: 1 },
    ],
  }
}

/** RoBERTa puts two separators between the texts and uses token type 0 everywhere. */
function buildRobertaLayout(processor: JsonRecord): SpecialLayout {
  const cls: LayoutPart = { kind: 'special', id: idOfTokenPair(processor, 'cls'), typeId: 0 }
  const sep: LayoutPart = { kind: 'special', id: idOfTokenPair(processor, 'sep'), typeId: 0 }
  const second: LayoutPart = { kind: 'sequence', of: 'second', typeId: 0 }
  return { single: [cls, FIRST, sep], pair: [cls, FIRST, sep, sep, second, sep] }
}

/** These processors give a special token as a list of its text and its id. */
function idOfTokenPair(processor: JsonRecord, field: string): number {
  const pair: unknown = processor[field]
  const id: unknown = Array.isArray(pair) ? pair[1] : undefined
  if (!isTokenId(id)) throw refusal(`post_processor.${field} must be a list of a token and its id`)
  return id
}

function isTokenId(value: unknown): value is number {
  return isWhole(value) && value >= 0 && value < VOCABULARY_IDS_MAX
}

function refusal(problem: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `tokenizer.json: ${problem}`)
}
