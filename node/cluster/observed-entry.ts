import { must } from '../../lib/assert.ts'
import {
  CONFIGURATION_PREFIX,
  LIVE_PREFIX,
  MOVE_PREFIX,
  NODE_PREFIX,
  decodeConfiguration,
  decodeMove,
  decodeNode,
  decodeRegistration,
} from '../controller/core/records/cluster-codec.ts'
import type { Observation } from '../controller/core/view/observation.ts'
import type { EntryChange } from './follow-entries.ts'

/** What an entry below `/cluster/` says. */
export type ClusterObservation = Extract<
  Observation,
  { readonly kind: 'node' | 'live' | 'configuration' | 'move' }
>

type Reader = (change: EntryChange, name: string) => ClusterObservation

const READERS: Readonly<Record<string, Reader>> = {
  [NODE_PREFIX]: ({ entry, revision }, id) => {
    return { kind: 'node', id, record: entry && decodeNode(entry.value), revision }
  },
  [LIVE_PREFIX]: ({ entry, revision }, id) => {
    return { kind: 'live', id, record: entry && decodeRegistration(entry.value), revision }
  },
  [CONFIGURATION_PREFIX]: ({ entry, revision }, path) => {
    const configuration = entry && decodeConfiguration(entry.value, revision)
    return { kind: 'configuration', path, configuration, revision }
  },
  [MOVE_PREFIX]: ({ entry, revision }, path) => {
    return { kind: 'move', path, record: entry && decodeMove(entry.value), revision }
  },
}

const PREFIXES = Object.keys(READERS)

/** Undefined for a key of another kind. Throws CORRUPTION for a value that cannot be read. */
export function observationOf(change: EntryChange): ClusterObservation | undefined {
  const prefix = PREFIXES.find((start) => change.key.startsWith(start))
  if (prefix === undefined) return undefined
  return must(READERS[prefix], 'a reader')(change, change.key.slice(prefix.length))
}
