// Which index of vectors a query asks that seeks by a text or a document and names none: the one that can answer.

import type { QueryRequest } from '../../query/request/query-request.ts'
import type { QueriedTable, QueriedVectors } from '../tables/queried-table.ts'

/** An index that was chosen because all others are empty. */
export interface ChosenVectors {
  readonly name: string
  /** What a person may want to know about the choice. */
  readonly warning: string
}

/** The indexes that may be meant: the text of an external index would have to be embedded by the client. */
export function candidatesOf(
  { vectorIndexes }: QueriedTable,
  { vectors }: QueryRequest,
): readonly QueriedVectors[] {
  const able =
    vectors?.sought?.kind === 'text' ? vectorIndexes.filter(({ isManaged }) => isManaged) : []
  return able.length > 0 ? able : vectorIndexes
}

/** Undefined: the query names what it asks, or one index may be meant, or several that are not empty. */
export function chooseVectors(
  table: QueriedTable,
  request: QueryRequest,
): Promise<ChosenVectors | undefined> | undefined {
  const { indexes, vectors } = request
  if (vectors?.sought === undefined || vectors.embeddings.size > 0) return undefined
  if (indexes.some((name) => !table.textIndexes.includes(name))) return undefined
  const names = candidatesOf(table, request).map(({ name }) => name)
  return names.length > 1 ? chooseOf(table, names) : undefined
}

async function chooseOf(
  table: QueriedTable,
  names: readonly string[],
): Promise<ChosenVectors | undefined> {
  const empty = (await table.emptyVectors?.(names)) ?? new Set()
  const [name, other] = names.filter((one) => !empty.has(one))
  if (name === undefined || other !== undefined) return undefined
  const left = [...empty].map((one) => `"${one}"`).join(', ')
  const what = empty.size === 1 ? 'has no vectors' : 'have no vectors'
  return { name, warning: `index "${name}" was asked, because ${left} ${what}; name it in indexes` }
}

/** A sentence for each of these indexes that is empty. `names` are those that have found nothing. */
export async function emptyWarnings(
  { emptyVectors }: QueriedTable,
  names: readonly string[],
): Promise<readonly string[]> {
  if (names.length === 0 || emptyVectors === undefined) return []
  return [...(await emptyVectors(names))].map(
    (name) => `index "${name}" has no vectors, so it finds nothing; its status says why`,
  )
}
