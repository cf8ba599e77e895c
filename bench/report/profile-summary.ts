// Where a CPU profile says the time went: self time by function, heaviest first.

export interface CpuProfile {
  readonly nodes: readonly ProfileNode[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

export interface ProfileNode {
  readonly id: number
  readonly callFrame: {
    readonly functionName: string
    readonly url: string
    /** Zero-based. */
    readonly lineNumber: number
  }
}

export interface SelfTime {
  readonly place: string
  /** Of the time in which the process was busy. */
  readonly share: number
}

const IDLE = '(idle)'

export function summariseProfile(profile: CpuProfile, entriesMax: number): readonly SelfTime[] {
  const placeById = new Map(profile.nodes.map((node) => [node.id, placeOf(node)]))
  const timeByPlace = new Map<string, number>()
  let busy = 0
  for (const [index, id] of profile.samples.entries()) {
    const place = placeById.get(id) ?? '(unknown)'
    if (place === IDLE) continue
    const time = profile.timeDeltas[index] ?? 0
    busy += time
    timeByPlace.set(place, (timeByPlace.get(place) ?? 0) + time)
  }
  return [...timeByPlace]
    .map(([place, time]) => ({ place, share: time / busy }))
    .toSorted((a, b) => b.share - a.share)
    .slice(0, entriesMax)
}

function placeOf({ callFrame: { functionName, url, lineNumber } }: ProfileNode): string {
  const name = functionName === '' ? '(anonymous)' : functionName
  if (url === '') return name
  const file = url
    .replace(/^file:\/\//, '')
    .replace(/^.*?\/(?=(?:node|lib|cli|bench|node_modules)\/)/, '')
  return `${name} ${file}:${lineNumber + 1}`
}
