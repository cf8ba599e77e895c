// Groups labelled words into entities by the prefixes of BIO and BIOES labels.
//
//   B- begins an entity, I- continues it, E- (or L-) ends it, S- (or U-) is an entity of one word.
//   A label without a prefix continues an entity of its kind.

import type { Entity } from './recognize-item.ts'

/** A word with its likeliest label. The ends are UTF-16 code units. */
export interface LabelledWord {
  readonly start: number
  readonly end: number
  readonly label: string
  /** The probability of the label. */
  readonly score: number
}

interface OpenEntity {
  readonly kind: string
  readonly start: number
  readonly words: LabelledWord[]
}

const PREFIXED = /^([BIESLU])[-_](.+)$/

const STANDARD_NAMES: Readonly<Record<string, string>> = {
  PERSON: 'PER',
  ORGANIZATION: 'ORG',
  LOCATION: 'LOC',
  MISCELLANEOUS: 'MISC',
}

/** The entities of a text in order. Their scores are the means of their words' scores. */
export function groupEntities(text: string, words: readonly LabelledWord[]): Entity[] {
  const entities: Entity[] = []
  let open: OpenEntity | undefined
  const close = (): void => {
    if (open !== undefined) entities.push(entityOf(text, open))
    open = undefined
  }
  for (const word of words) {
    const { prefix, kind } = parseLabel(word.label)
    const begins = prefix === 'B' || prefix === 'S' || prefix === 'U'
    if (kind === undefined || begins || open?.kind !== kind) close()
    if (kind === undefined) continue
    open ??= { kind, start: word.start, words: [] }
    open.words.push(word)
    if (prefix !== 'B' && prefix !== 'I') close()
  }
  close()
  return entities
}

/** A label without a prefix counts as I-. The label `O` means that the word is outside entities. */
function parseLabel(label: string): { prefix: string; kind: string | undefined } {
  const [, prefix = 'I', kind = label] = PREFIXED.exec(label) ?? []
  return { prefix, kind: label.toUpperCase() === 'O' ? undefined : kind }
}

function entityOf(text: string, { kind, start, words }: OpenEntity): Entity {
  const end = words.at(-1)?.end ?? start
  const score = words.reduce((sum, word) => sum + word.score, 0) / words.length
  return {
    text: text.slice(start, end),
    label: STANDARD_NAMES[kind.toUpperCase()] ?? kind,
    start,
    end,
    score,
  }
}
