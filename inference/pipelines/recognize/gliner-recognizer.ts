import { ServiceError } from '../../../lib/errors.ts'
import type { GlinerFinding, GlinerModel } from './gliner-model.ts'
import type { Entity, RecognizeItem, RecognizeResult, Relation } from './recognize-item.ts'
import { selectSpans } from './span-selection.ts'
import type { SpanCandidate } from './span-selection.ts'

/** Multi-task models were trained to find relations by this prefix, and by labels with this mark. */
const RELATION_PREFIX = 'Extract relationships between entities from the text:'
const RELATION_MARK = ' <> '
const UNKNOWN_LABEL = 'ENTITY'
/**
 * The most questions about one text. Each question is a label, and questions that do not fit beside
 * the text need another run, so a text of many entities would occupy its worker for minutes.
 */
export const RELATION_QUESTIONS_MAX = 512

/** Recognizes entities and relations of texts, which all have the labels of the first one. */
export async function recognizeByLabels(
  model: GlinerModel,
  items: readonly RecognizeItem[],
  signal: AbortSignal,
): Promise<RecognizeResult[]> {
  const labels = labelsOf(model, items[0])
  const texts = items.map(({ text }) => text)
  const { threshold, flat, multiLabel } = model.settings
  const findings = await model.find({ texts, labels, prefix: '', threshold }, signal)
  const results: RecognizeResult[] = []
  for (const [index, item] of items.entries()) {
    const finding = findings[index] ?? { words: [], candidates: [] }
    const entities = selectSpans(finding.candidates, { flat, multiLabel }).map((span) =>
      entityOf(item.text, { finding, span, label: labels[span.label] ?? UNKNOWN_LABEL }),
    )
    const relations = await findRelations(model, { item, entities }, signal)
    results.push({ entities, relations })
  }
  return results
}

function labelsOf(model: GlinerModel, item: RecognizeItem | undefined): string[] {
  const given = item?.labels ?? []
  const labels = [...new Set(given.length > 0 ? given : model.settings.defaultLabels)]
  if (labels.length > 0) return labels
  throw new ServiceError(
    'INVALID_ARGUMENT',
    'labels are required: this model has no default labels',
  )
}

interface SpanOfText {
  readonly finding: GlinerFinding
  readonly span: SpanCandidate
  readonly label: string
}

function entityOf(text: string, { finding, span, label }: SpanOfText): Entity {
  const start = finding.words[span.firstWord]?.start ?? 0
  const end = finding.words[span.lastWord]?.end ?? start
  return { text: text.slice(start, end), label, start, end, score: span.score }
}

interface RelationQuestion {
  readonly head: Entity
  readonly relation: string
  /** The label that the model searches for. The spans that it finds are the tails. */
  readonly label: string
}

interface EntitiesOfItem {
  readonly item: RecognizeItem
  readonly entities: readonly Entity[]
}

async function findRelations(
  model: GlinerModel,
  found: EntitiesOfItem,
  signal: AbortSignal,
): Promise<Relation[]> {
  const relations: Relation[] = []
  for (const questions of groupQuestions(model, buildQuestions(found.item, found.entities))) {
    const labels = questions.map(({ label }) => label)
    const threshold = model.settings.relationThreshold
    const query = { texts: [found.item.text], labels, prefix: RELATION_PREFIX, threshold }
    const [finding] = await model.find(query, signal)
    if (finding === undefined) continue
    for (const [index, question] of questions.entries()) {
      const candidates = finding.candidates.filter(({ label }) => label === index)
      relations.push(...relationsOf(question, { ...finding, candidates }, found))
    }
  }
  return relations
}

/** Each span that was found is a tail: a known entity that overlaps it, or a new one. */
function relationsOf(
  { head, relation }: RelationQuestion,
  finding: GlinerFinding,
  { item, entities }: EntitiesOfItem,
): Relation[] {
  return selectSpans(finding.candidates, { flat: true, multiLabel: false })
    .map((span) => entityOf(item.text, { finding, span, label: UNKNOWN_LABEL }))
    .map((hit) => ({
      head,
      tail: entities.find((entity) => overlaps(entity, hit)) ?? hit,
      label: relation,
      score: hit.score,
    }))
    .filter(({ tail }) => tail.text !== head.text)
}

/** The questions about the entities with the highest scores. Equal entity texts are asked about once. */
export function buildQuestions(
  { relationLabels }: Pick<RecognizeItem, 'relationLabels'>,
  entities: readonly Entity[],
): RelationQuestion[] {
  const relations = [...new Set(relationLabels)]
  const byText = new Map(entities.toReversed().map((entity) => [entity.text, entity]))
  const headsMax = Math.floor(RELATION_QUESTIONS_MAX / Math.max(1, relations.length))
  const surest = [...byText.values()].toSorted((a, b) => b.score - a.score).slice(0, headsMax)
  const heads = new Set(surest)
  const inOrder = entities.filter((entity) => heads.has(entity))
  return inOrder.flatMap((head) =>
    relations.map((relation) => ({
      head,
      relation,
      label: `${head.text}${RELATION_MARK}${relation}`,
    })),
  )
}

/** Groups questions so that each group leaves room for the text. */
function groupQuestions(
  model: GlinerModel,
  questions: readonly RelationQuestion[],
): RelationQuestion[][] {
  // Half of the room, because the prefix takes some of it too.
  const tokensMax = model.labelTokensMax / 2
  const groups: RelationQuestion[][] = []
  let tokens = Infinity
  for (const question of questions) {
    const added = model.labelTokens(question.label)
    if (tokens + added > tokensMax) {
      groups.push([])
      tokens = 0
    }
    groups.at(-1)?.push(question)
    tokens += added
  }
  return groups
}

function overlaps(left: Entity, right: Entity): boolean {
  return left.start < right.end && right.start < left.end
}
