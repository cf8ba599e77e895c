import type { FieldName, Query } from './query-tree.ts'

/** Every name of a field in the query; undefined stands for the fields that queries search by default. */
export function fieldNamesOf(query: Query): readonly FieldName[] {
  if (query.kind === 'boolean') {
    const { must, should, mustNot, filter } = query
    return [...must, ...should, ...mustNot, ...filter].flatMap(fieldNamesOf)
  }
  if (query.kind === 'simple') return query.fields?.map(({ name }) => name) ?? [undefined]
  if (query.kind === 'multi-match') return query.fields
  return 'field' in query ? [query.field] : []
}

/** The keys of all documents that can match; undefined if the query does not name them. */
export function keysOf(query: Query): readonly Buffer[] | undefined {
  if (query.kind === 'ids') return query.ids.filter((id) => id !== '').map((id) => Buffer.from(id))
  if (query.kind !== 'boolean') return undefined
  for (const part of [...query.must, ...query.filter]) {
    const keys = keysOf(part)
    if (keys !== undefined) return keys
  }
  return undefined
}
