// Detects the kind of a model from its repository. Pure.

import { ServiceError } from '../../../lib/errors.ts'
import { FOLDER_BY_KIND, MODEL_KINDS } from '../model-spec.ts'
import type { ModelKind } from '../model-spec.ts'
import { memberOf } from './hub-listing.ts'

/** The facts about a repository that show its kind. */
export interface RepositoryFacts {
  readonly name: string
  readonly paths: readonly string[]
  /** The parsed config.json; undefined: the repository has none. */
  readonly config: unknown
}

interface KindRule {
  readonly kind: ModelKind
  applies(facts: RepositoryFacts): boolean
}

/**
 * The first rule that applies decides. The architecture shows a classifier, also if it has files of
 * other kinds. modules.json shows a sentence embedder, also if its architecture is another one.
 */
const RULES: readonly KindRule[] = [
  { kind: 'recognizer', applies: ({ paths }) => paths.includes('gliner_config.json') },
  { kind: 'recognizer', applies: ({ paths }) => paths.includes('rebel_config.json') },
  { kind: 'recognizer', applies: ({ name, config }) => /rebel/i.test(name) && isSeq2Seq(config) },
  { kind: 'reranker', applies: ({ config }) => hasHead(config, 'ForSequenceClassification') },
  {
    kind: 'chunker',
    applies: ({ config }) => hasHead(config, 'ForTokenClassification') && labelsCutText(config),
  },
  { kind: 'recognizer', applies: ({ config }) => hasHead(config, 'ForTokenClassification') },
  {
    kind: 'embedder',
    applies: ({ paths }) =>
      paths.includes('modules.json') || paths.includes('1_Pooling/config.json'),
  },
  { kind: 'rewriter', applies: ({ config }) => isSeq2Seq(config) },
  {
    kind: 'generator',
    applies: ({ config }) => hasHead(config, 'ForCausalLM') || hasHead(config, 'LMHeadModel'),
  },
  {
    kind: 'embedder',
    applies: ({ config }) => hasHead(config, 'Model') || hasHead(config, 'ForMaskedLM'),
  },
]

/** Parses `embedder`, or `embedders` like its folder. Throws INVALID_ARGUMENT for other texts. */
export function parseModelKind(text: string): ModelKind {
  const kind = MODEL_KINDS.find((known) => text === known || text === FOLDER_BY_KIND[known])
  if (kind !== undefined) return kind
  const kinds = Object.values(FOLDER_BY_KIND).join(', ')
  throw new ServiceError('INVALID_ARGUMENT', `Give one of ${kinds}.`)
}

/** Undefined when no rule applies. */
export function detectKind(facts: RepositoryFacts): ModelKind | undefined {
  return RULES.find((rule) => rule.applies(facts))?.kind
}

function isSeq2Seq(config: unknown): boolean {
  return (
    memberOf(config, 'is_encoder_decoder') === true || hasHead(config, 'ForConditionalGeneration')
  )
}

function hasHead(config: unknown, ending: string): boolean {
  const architectures = memberOf(config, 'architectures')
  if (!Array.isArray(architectures)) return false
  return architectures.some((name) => typeof name === 'string' && name.endsWith(ending))
}

/** A chunker's labels mark separators or boundaries. */
function labelsCutText(config: unknown): boolean {
  const labels = memberOf(config, 'id2label')
  if (typeof labels !== 'object' || labels === null) return false
  return Object.values(labels).some(
    (label) => typeof label === 'string' && /sep|boundary/i.test(label),
  )
}
