// Whether a history of committed transactions is serializable: Adya's direct serialization graph.
//
// Every written value is unique, so a read names its writer; the order of a key's versions is the
// order of the version numbers that the store gave out. Nothing has to be guessed, and a cycle is
// found if there is one.
//
//   ww  A wrote the version before B's          wr  B read what A wrote
//   rw  A read the version before the one that B wrote
//
// Anomalies by Adya's names: G0 a cycle of ww, G1a a read of what never committed, G1b a read of an
// overwritten intermediate value, G1c a cycle of ww and wr, G-single a cycle with one rw (lost
// update, fractured read), G2 a cycle with several (write skew).

/** What one transaction did to one key; version 0 is the absent document. */
export interface Access {
  readonly key: string
  readonly version: bigint
  /** Undefined: nothing was there. */
  readonly value: string | undefined
}

export interface HistoryTransaction {
  readonly id: string
  readonly reads: readonly Access[]
  readonly writes: readonly Access[]
}

export interface History {
  readonly committed: readonly HistoryTransaction[]
  /** Values whose transaction answered that it did not take effect. */
  readonly abortedValues: ReadonlySet<string>
}

export type AnomalyKind = 'G0' | 'G1a' | 'G1b' | 'G1c' | 'G-single' | 'G2' | 'version-order'

export interface Anomaly {
  readonly kind: AnomalyKind
  readonly description: string
}

type EdgeKind = 'ww' | 'wr' | 'rw'

interface Edge {
  readonly from: string
  readonly to: string
  readonly kind: EdgeKind
  readonly key: string
}

interface Installed {
  readonly version: bigint
  readonly value: string | undefined
  readonly writer: string
}

/** Every anomaly of a single read or version, and one for each cycle that a search comes upon. */
export function findAnomalies(history: History): readonly Anomaly[] {
  const installed = versionsByKey(history)
  const anomalies = [...duplicateVersions(installed), ...badReads(history, installed)]
  const edges = edgesOf(history, installed)
  const cycles = [
    findCycle(edges.filter(({ kind }) => kind === 'ww')),
    findCycle(edges.filter(({ kind }) => kind !== 'rw')),
    findCycle(edges),
  ].filter((cycle) => cycle !== undefined)
  return [...anomalies, ...cycles.map(anomalyOfCycle)]
}

function versionsByKey({ committed }: History): ReadonlyMap<string, readonly Installed[]> {
  const byKey = new Map<string, Installed[]>()
  for (const { id, writes } of committed) {
    for (const { key, version, value } of writes) {
      const versions = byKey.get(key) ?? []
      versions.push({ version, value, writer: id })
      byKey.set(key, versions)
    }
  }
  for (const versions of byKey.values()) {
    versions.sort((a, b) => (a.version < b.version ? -1 : 1))
  }
  return byKey
}

function duplicateVersions(
  installed: ReadonlyMap<string, readonly Installed[]>,
): readonly Anomaly[] {
  return [...installed].flatMap(([key, versions]) =>
    versions
      .filter(({ version }, i) => versions[i - 1]?.version === version)
      .map(({ version, writer }): Anomaly => ({
        kind: 'version-order',
        description: `${writer} wrote version ${version} of ${key} a second time`,
      })),
  )
}

function badReads(
  { committed, abortedValues }: History,
  installed: ReadonlyMap<string, readonly Installed[]>,
): readonly Anomaly[] {
  const anomalies: Anomaly[] = []
  for (const { id, reads } of committed) {
    for (const { key, version, value } of reads) {
      if (value === undefined) continue
      const writer = installed.get(key)?.find((one) => one.value === value)
      const description = `${id} read "${value}" of ${key} at version ${version}`
      if (writer === undefined) {
        anomalies.push({ kind: abortedValues.has(value) ? 'G1a' : 'G1b', description })
      } else if (writer.version !== version) {
        anomalies.push({ kind: 'version-order', description })
      }
    }
  }
  return anomalies
}

function edgesOf(
  { committed }: History,
  installed: ReadonlyMap<string, readonly Installed[]>,
): readonly Edge[] {
  const edges: Edge[] = []
  const add = (edge: Edge): void => {
    if (edge.from !== edge.to) edges.push(edge)
  }
  for (const [key, versions] of installed) {
    for (const [i, { writer }] of versions.entries()) {
      const before = versions[i - 1]
      if (before !== undefined) add({ from: before.writer, to: writer, kind: 'ww', key })
    }
  }
  for (const { id, reads } of committed) {
    for (const { key, version } of reads) {
      const versions = installed.get(key) ?? []
      const next = firstAbove(versions, version)
      const seen = versions[next - 1]
      const overwriting = versions[next]
      if (seen !== undefined && seen.version === version) {
        add({ from: seen.writer, to: id, kind: 'wr', key })
      }
      if (overwriting !== undefined) add({ from: id, to: overwriting.writer, kind: 'rw', key })
    }
  }
  return edges
}

/** The place of the first version above `version`. */
function firstAbove(versions: readonly Installed[], version: bigint): number {
  let low = 0
  let high = versions.length
  while (low < high) {
    const middle = (low + high) >> 1
    const found = versions[middle]
    if (found !== undefined && found.version <= version) low = middle + 1
    else high = middle
  }
  return low
}

/** A depth-first search with its own stack, because histories are long. */
function findCycle(edges: readonly Edge[]): readonly Edge[] | undefined {
  const outgoing = Map.groupBy(edges, ({ from }) => from)
  const done = new Set<string>()
  for (const start of outgoing.keys()) {
    const cycle = cycleFrom(start, outgoing, done)
    if (cycle !== undefined) return cycle
  }
  return undefined
}

function cycleFrom(
  start: string,
  outgoing: ReadonlyMap<string, readonly Edge[]>,
  done: Set<string>,
): readonly Edge[] | undefined {
  const path: Edge[] = []
  const onPath = new Set([start])
  const stack = [{ node: start, next: 0 }]
  for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
    const edge = outgoing.get(top.node)?.[top.next++]
    if (edge === undefined) {
      done.add(top.node)
      onPath.delete(top.node)
      stack.pop()
      path.pop()
    } else if (onPath.has(edge.to)) {
      const from = path.findIndex((step) => step.from === edge.to)
      return [...(from < 0 ? [] : path.slice(from)), edge]
    } else if (!done.has(edge.to)) {
      path.push(edge)
      onPath.add(edge.to)
      stack.push({ node: edge.to, next: 0 })
    }
  }
  return undefined
}

function anomalyOfCycle(cycle: readonly Edge[]): Anomaly {
  const kinds = cycle.map(({ kind }) => kind)
  const description = cycle
    .map(({ from, to, kind, key }) => `${from} -${kind}(${key})-> ${to}`)
    .join(', ')
  return { kind: kindOfCycle(kinds), description }
}

function kindOfCycle(kinds: readonly EdgeKind[]): AnomalyKind {
  const antidependencies = kinds.filter((kind) => kind === 'rw').length
  if (antidependencies > 1) return 'G2'
  if (antidependencies === 1) return 'G-single'
  return kinds.includes('wr') ? 'G1c' : 'G0'
}
