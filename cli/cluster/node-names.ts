// Short forms of node ids, which are UUIDs: as many characters as tell the nodes of a cluster apart.

import { EXIT } from '../../lib/process/exit-codes.ts'
import { CliError, usageError } from '../process/exit.ts'
import type { ApiClient } from '../service/api-client.ts'
import { parseNodes } from '../service/cluster-answers.ts'
import type { NodeAnswer } from '../service/cluster-answers.ts'

const SHORT_LENGTH_MIN = 8

/** By id, its short form. An id that is not among them stays as it is. */
export type ShortNames = (id: string) => string

export function shortNames(ids: Iterable<string>): ShortNames {
  const all = [...new Set(ids)]
  const longest = Math.max(SHORT_LENGTH_MIN, ...all.map((id) => id.length))
  let length = SHORT_LENGTH_MIN
  while (length < longest && new Set(all.map((id) => id.slice(0, length))).size < all.length) {
    length += 1
  }
  const known = new Set(all)
  return (id) => (known.has(id) ? id.slice(0, length) : id)
}

/** The node that a person means by an id or by the beginning of one. */
export async function findNode(client: ApiClient, text: string): Promise<NodeAnswer> {
  const { text: answer } = await client.request({ method: 'GET', path: '/cluster/nodes' })
  const nodes = parseNodes(answer)
  const exact = nodes.find(({ id }) => id === text)
  if (exact !== undefined) return exact
  const [found, other] = nodes.filter(({ id }) => id.startsWith(text))
  if (found !== undefined && other === undefined) return found
  if (other !== undefined) throw usageError(`several nodes begin with ${text}; give more of the id`)
  const message = `no node ${text} is in the cluster; quarry cluster nodes lists them`
  throw new CliError(EXIT.refused, 'NOT_FOUND', message)
}
