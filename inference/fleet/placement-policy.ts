// Where models are loaded, and which must go for them. Pure: state in, decision out.

/** What a loaded model takes beside its files' bytes: packed weights, arenas. */
const MEMORY_RATIO = 1.5
/** A model that nobody can be evicted for takes a place by force when it has waited this long. */
const PATIENCE_MS = 250

export interface MemoryLimits {
  readonly loadedModelsMax: number
  readonly memoryBytesMax: number
}

export interface PlacedModel {
  readonly id: number
  readonly fileBytes: number
  /** Workers that have it, or are loading it. */
  readonly workers: readonly number[]
  readonly lastUsedMs: number
  /** Something of it is running, or being loaded or unloaded. */
  readonly isBusy: boolean
  /** Something waits for it. */
  readonly isWanted: boolean
  /** Preloaded: never evicted. */
  readonly isPinned: boolean
  /** It was loaded for somebody who still waits: evicted now, it would have been loaded for nothing. */
  readonly isUnserved: boolean
}

export interface WorkerLoad {
  readonly index: number
  readonly bytes: number
}

export type Placement =
  | { readonly kind: 'load'; readonly worker: number }
  /** Unload these, then ask again. */
  | { readonly kind: 'evict'; readonly models: readonly number[] }
  /** Let these finish what runs and start nothing new, then ask again. */
  | { readonly kind: 'quiesce'; readonly model: number }
  | { readonly kind: 'wait' }
  | { readonly kind: 'impossible' }

export function memoryBytesOf(fileBytes: number): number {
  return Math.ceil(fileBytes * MEMORY_RATIO)
}

export interface PlacementQuestion {
  readonly fileBytes: number
  /** How long its first request has waited. */
  readonly waitedMs: number
  readonly placed: readonly PlacedModel[]
  /** Workers that are up. */
  readonly workers: readonly WorkerLoad[]
  readonly limits: MemoryLimits
}

/** Where a model that is loaded nowhere goes. */
export function decidePlacement(question: PlacementQuestion): Placement {
  const { fileBytes, placed, workers, limits } = question
  const needed = memoryBytesOf(fileBytes)
  const pinned = placed.filter(({ isPinned }) => isPinned)
  if (!hasRoom(pinned, needed, limits)) return { kind: 'impossible' }
  const worker = leastLoaded(workers)
  if (worker === undefined) return { kind: 'wait' }
  if (hasRoom(placed, needed, limits)) return { kind: 'load', worker }
  const evictable = placed.filter(({ isPinned }) => !isPinned)
  const idle = evictable.filter(({ isBusy, isWanted }) => !isBusy && !isWanted)
  const victims = leastRecentlyUsed(idle, placed, needed, limits)
  if (victims !== undefined) return { kind: 'evict', models: victims }
  // Models that are asked for all the time would otherwise keep everybody else out.
  const served = evictable.filter(({ isUnserved }) => !isUnserved)
  const [leastRecent] = byLastUse(served)
  if (question.waitedMs < PATIENCE_MS || leastRecent === undefined) return { kind: 'wait' }
  return leastRecent.isBusy
    ? { kind: 'quiesce', model: leastRecent.id }
    : { kind: 'evict', models: [leastRecent.id] }
}

/** Whether a second worker may load a model that one worker cannot keep up with; which one. */
export function decideReplica(
  model: PlacedModel,
  { placed, workers, limits }: Pick<PlacementQuestion, 'placed' | 'workers' | 'limits'>,
): number | undefined {
  const total = usedBytes(placed) + memoryBytesOf(model.fileBytes)
  if (total > limits.memoryBytesMax) return undefined
  return leastLoaded(workers.filter(({ index }) => !model.workers.includes(index)))
}

function leastLoaded(workers: readonly WorkerLoad[]): number | undefined {
  return workers.toSorted((a, b) => a.bytes - b.bytes)[0]?.index
}

function usedBytes(placed: readonly PlacedModel[]): number {
  return placed.reduce((sum, model) => sum + bytesOf(model), 0)
}

function bytesOf({ fileBytes, workers }: PlacedModel): number {
  return memoryBytesOf(fileBytes) * workers.length
}

function hasRoom(placed: readonly PlacedModel[], needed: number, limits: MemoryLimits): boolean {
  const fits = usedBytes(placed) + needed <= limits.memoryBytesMax
  return placed.length < limits.loadedModelsMax && fits
}

function byLastUse(models: readonly PlacedModel[]): PlacedModel[] {
  return models.toSorted((a, b) => a.lastUsedMs - b.lastUsedMs)
}

/** The fewest of the idle, least recently used first, that make room; undefined: all are too few. */
function leastRecentlyUsed(
  idle: readonly PlacedModel[],
  placed: readonly PlacedModel[],
  needed: number,
  limits: MemoryLimits,
): number[] | undefined {
  let rest = placed
  const victims: number[] = []
  for (const victim of byLastUse(idle)) {
    victims.push(victim.id)
    rest = rest.filter(({ id }) => id !== victim.id)
    if (hasRoom(rest, needed, limits)) return victims
  }
  return undefined
}
