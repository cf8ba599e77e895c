// What nodes are called: by their names, and those without a name by as many characters of their ids, which are UUIDs,
// as tell the nodes of a cluster apart.

import { EXIT } from '../../lib/process/exit-codes.ts'
import { CliError, usageError } from '../process/exit.ts'
import type { ApiClient } from '../service/api-client.ts'
import { parseNodes } from '../service/cluster-answers.ts'
import type { NodeAnswer } from '../service/cluster-answers.ts'

const SHORT_LENGTH_MIN = 8

/** By id, its short form. An id that is not among them stays as it is. */
export type ShortNames = (id: string) => string

export function namesOf(nodes: readonly Named[]): ShortNames {
  const short = shortNames(nodes.map(({ id }) => id))
  const names = new Map(nodes.map(({ id, name }) => [id, name]))
  const uses = (name: string): number => nodes.filter((node) => node.name === name).length
  return (id) => {
    const name = names.get(id) ?? ''
    if (name === '') return short(id)
    return uses(name) === 1 ? name : `${name} (${short(id)})`
  }
}

type Named = Pick<NodeAnswer, 'id' | 'name'>

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

/** The node that a person means by a name, an id or the beginning of one. */
export async function findNode(client: ApiClient, text: string): Promise<NodeAnswer> {
  const { text: answer } = await client.request({ method: 'GET', path: '/cluster/nodes' })
  const nodes = parseNodes(answer)
  const exact = nodes.find(({ id }) => id === text)
  if (exact !== undefined) return exact
  const named = nodes.filter(({ name }) => name === text)
  if (named[0] !== undefined && named.length === 1) return named[0]
  if (named.length > 1) throw usageError(`several nodes are called ${text}; give the id of one`)
  const [found, other] = nodes.filter(({ id }) => id.startsWith(text))
  if (found !== undefined && other === undefined) return found
  if (other !== undefined) throw usageError(`several nodes begin with ${text}; give more of the id`)
  const message = `no node ${text} is in the cluster; see them with: ${client.command('cluster nodes')}`
  throw new CliError(EXIT.refused, 'NOT_FOUND', message)
}
