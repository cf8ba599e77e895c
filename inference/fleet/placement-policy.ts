// Decides where models are loaded, and which models are unloaded for them. Pure.

/** The memory of a loaded model relative to its files, because of packed weights and arenas. */
const MEMORY_RATIO = 1.5
/** After this time, a waiting model may also displace models that are in use. */
const PATIENCE_MS = 250

/** The limits for all loaded models together. */
export interface MemoryLimits {
  readonly loadedModelsMax: number
  readonly memoryBytesMax: number
}

/** A loaded model, as far as the policy needs it. */
export interface PlacedModel {
  readonly id: number
  readonly fileBytes: number
  /** The workers that have it or are loading it. */
  readonly workers: readonly number[]
  readonly lastUsedMs: number
  /** Whether it runs work, or is being loaded or unloaded. */
  readonly isBusy: boolean
  /** Whether work waits for it. */
  readonly isWanted: boolean
  /** Whether it was preloaded. It is then never evicted. */
  readonly isPinned: boolean
  /** Whether the work that it was loaded for still waits. Evicting it now would waste the load. */
  readonly isUnserved: boolean
}

/** A worker and the bytes of its models. */
export interface WorkerLoad {
  readonly index: number
  readonly bytes: number
}

/** The decision about a model that has no worker. */
export type Placement =
  | { readonly kind: 'load'; readonly worker: number }
  /** Unload these models, then decide again. */
  | { readonly kind: 'evict'; readonly models: readonly number[] }
  /** Let this model finish its running work without starting more, then decide again. */
  | { readonly kind: 'quiesce'; readonly model: number }
  | { readonly kind: 'wait' }
  | { readonly kind: 'impossible' }

/** The estimated memory of one replica. */
export function memoryBytesOf(fileBytes: number): number {
  return Math.ceil(fileBytes * MEMORY_RATIO)
}

/** The state on which a decision depends. */
export interface PlacementQuestion {
  readonly fileBytes: number
  /** The time that the model's first request has waited. */
  readonly waitedMs: number
  readonly placed: readonly PlacedModel[]
  /** The workers that are up. */
  readonly workers: readonly WorkerLoad[]
  readonly limits: MemoryLimits
}

/** Decides about a model that has no worker. */
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
  // Otherwise models in constant use would keep all others out.
  const served = evictable.filter(({ isUnserved }) => !isUnserved)
  const [leastRecent] = byLastUse(served)
  if (question.waitedMs < PATIENCE_MS || leastRecent === undefined) return { kind: 'wait' }
  return leastRecent.isBusy
    ? { kind: 'quiesce', model: leastRecent.id }
    : { kind: 'evict', models: [leastRecent.id] }
}

/** The worker for another replica of a model; undefined: there is no room or no worker. */
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

/** The fewest idle models, least recently used first, that make room; undefined: all are too few. */
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
