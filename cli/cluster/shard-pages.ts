import type { ApiClient } from '../service/api-client.ts'
import { parseShardPage } from '../service/cluster-answers.ts'
import type { ClusterShardAnswer } from '../service/cluster-answers.ts'

const PAGE_SHARDS = 1000

/** Which shards to list; undefined: all. */
export interface WantedShards {
  readonly table?: string | undefined
  readonly trouble?: string | undefined
}

/** The shards of all pages, parsed and as they came. */
export async function listShards(
  client: ApiClient,
  { table, trouble }: WantedShards,
): Promise<{ readonly shards: ClusterShardAnswer[]; readonly values: unknown[] }> {
  const all: { readonly shards: ClusterShardAnswer[]; readonly values: unknown[] } = {
    shards: [],
    values: [],
  }
  let cursor: string | undefined
  do {
    const query = queryOf({ table, trouble, limit: String(PAGE_SHARDS), cursor })
    const { text } = await client.request({ method: 'GET', path: `/cluster/shards?${query}` })
    const page = parseShardPage(text)
    all.shards.push(...page.shards)
    all.values.push(...page.values)
    cursor = page.nextCursor === '' ? undefined : page.nextCursor
  } while (cursor !== undefined)
  return all
}

function queryOf(parameters: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : `${name}=${encodeURIComponent(value)}`,
  )
  return given.join('&')
}
