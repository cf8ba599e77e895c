// The models of a models directory, found once at the start.
//
// Invariants:
//   K1  Every listed model can be found by its name. Every skipped one is listed with the reason.
//   K2  A directory that cannot be served does not affect the others.

import path from 'node:path'
import { messageOf } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import { ModelFiles, refuse } from './model-files.ts'
import { isFolder, modelNamesIn } from './model-folders.ts'
import { FOLDER_BY_KIND, MODEL_KINDS } from './model-spec.ts'
import type { ModelKind, ModelSpec, SpecOf } from './model-spec.ts'
import { parseModel } from './parse-model.ts'

const MODELS_PER_KIND_MAX = 1_000

/** A directory that is not served. */
export interface SkippedModel {
  /** The path relative to the models directory. */
  readonly directory: string
  readonly reason: string
}

/** The served models of all kinds. It does not change while the server runs. */
export class ModelCatalog {
  readonly skipped: readonly SkippedModel[]
  readonly #specs: ReadonlyMap<ModelKind, readonly ModelSpec[]>
  readonly #fileless: NonNullable<BuiltInModels['names']>

  /** `fileless` are the names of models without files, which have no specs. */
  constructor(
    specs: ReadonlyMap<ModelKind, readonly ModelSpec[]>,
    skipped: readonly SkippedModel[],
    fileless: BuiltInModels['names'] = {},
  ) {
    this.#specs = specs
    this.skipped = skipped
    this.#fileless = fileless
  }

  /** The models of a kind, in the order of their names. */
  ofKind(kind: ModelKind): readonly ModelSpec[] {
    return this.#specs.get(kind) ?? []
  }

  /** The names of all models of a kind, also of those without files, in their order. */
  namesOf(kind: ModelKind): readonly string[] {
    const fileless = this.#fileless[kind] ?? []
    return [...fileless, ...this.ofKind(kind).map(({ name }) => name)].toSorted()
  }

  /** What the model of a name is; undefined if there is none. */
  kindOf(name: string): ModelKind | undefined {
    return MODEL_KINDS.find((kind) => {
      return this.#fileless[kind]?.has(name) === true || this.find(kind, name) !== undefined
    })
  }

  /** Finds a model by its listed name, by a name with `:` before the variant, or without a variant. */
  find<Kind extends ModelKind>(kind: Kind, name: string): SpecOf<Kind> | undefined {
    const specs = this.ofKind(kind).filter((spec): spec is SpecOf<Kind> => spec.kind === kind)
    const listed = name.replace(/:([^:/]+)$/, '-$1')
    const variants = specs.filter((spec) => baseNameOf(spec) === name)
    // A reranker's bare name means its quantized graph, although the full one is listed by that name.
    const preferred = kind === 'reranker' ? bestOf(variants, RERANKER_ORDER) : undefined
    const exact = specs.find(
      (spec) => spec.name === listed || `${baseNameOf(spec)}-${spec.variant}` === listed,
    )
    const asListed = specs.find((spec) => spec.name === name)
    return preferred ?? exact ?? asListed ?? bestOf(variants, VARIANT_ORDER)
  }
}

const VARIANT_ORDER = ['f32', 'f16', 'bf16', 'i8', 'u8']
const RERANKER_ORDER = ['i8', 'i8-st', 'u8', 'f32', 'f16', 'bf16']

function baseNameOf({ name, variant }: ModelSpec): string {
  return variant === 'f32' ? name : name.slice(0, -variant.length - 1)
}

function bestOf<Spec extends ModelSpec>(
  specs: readonly Spec[],
  order: readonly string[],
): Spec | undefined {
  const rankOf = ({ variant }: Spec): number => {
    const rank = order.indexOf(variant)
    return rank < 0 ? order.length : rank
  }
  return specs.toSorted((a, b) => rankOf(a) - rankOf(b))[0]
}

/** What the server has without a models directory. No model of that directory can have its names. */
export interface BuiltInModels {
  /** The names of models without files, by kind. */
  readonly names?: Partial<Readonly<Record<ModelKind, ReadonlySet<string>>>>
  /** A models directory that is read first. Absent: none. */
  readonly modelsDir?: string
}

/**
 * Reads all model directories of the built-in ones and below `root`. Directories that cannot be
 * served are logged and skipped.
 */
export async function scanModels(
  root: string,
  log: Log,
  builtIn: BuiltInModels = {},
): Promise<ModelCatalog> {
  const specs = new Map<ModelKind, readonly ModelSpec[]>()
  const skipped: SkippedModel[] = []
  // A folder that exists but cannot be read is reported for each kind below.
  if (!(await isFolder(root).catch(() => true))) {
    log.info('models directory not found', { modelsDir: path.resolve(root) })
  }
  for (const kind of MODEL_KINDS) {
    const folder = FOLDER_BY_KIND[kind]
    const skip = (name: string, error: unknown): void => {
      const reason = reasonOf(error)
      const directory = name === '' ? folder : `${folder}/${name}`
      skipped.push({ directory, reason })
      log.warn('model directory skipped', { directory, reason })
    }
    const taken = new Set(builtIn.names?.[kind])
    const found: ModelSpec[] = []
    for (const modelsDir of builtIn.modelsDir === undefined ? [root] : [builtIn.modelsDir, root]) {
      found.push(...(await readModels(modelsDir, kind, { taken, skip })))
    }
    specs.set(
      kind,
      found.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    )
  }
  return new ModelCatalog(specs, skipped, builtIn.names)
}

interface KindScan {
  /** The names of all models of this kind so far. */
  readonly taken: Set<string>
  readonly skip: (name: string, error: unknown) => void
}

async function readModels(
  modelsDir: string,
  kind: ModelKind,
  { taken, skip }: KindScan,
): Promise<ModelSpec[]> {
  const found: ModelSpec[] = []
  const names = await modelNamesIn(modelsDir, kind, skip)
  if (names.length > MODELS_PER_KIND_MAX) {
    const reason = `it has ${names.length} models; the first ${MODELS_PER_KIND_MAX} are served`
    skip('', refuse(reason))
  }
  for (const name of names.slice(0, MODELS_PER_KIND_MAX)) {
    try {
      const files = await ModelFiles.list(path.join(modelsDir, FOLDER_BY_KIND[kind], name))
      const parsed = await parseModel(kind, name, files)
      checkNames(parsed, taken)
      found.push(...parsed)
    } catch (error) {
      skip(name, error)
    }
  }
  return found
}

/** Two models must not have one name, because a request could not choose between them. */
function checkNames(parsed: readonly ModelSpec[], taken: Set<string>): void {
  const again = parsed.find(({ name }) => taken.has(name))
  if (again !== undefined) {
    throw refuse(`another model is called ${again.name}; rename the directory`)
  }
  const tooLong = parsed.find(({ name }) => name.length > NAME_LENGTH_MAX)
  if (tooLong !== undefined) {
    throw refuse(`its name has more than ${NAME_LENGTH_MAX} characters; rename the directory`)
  }
  for (const { name } of parsed) taken.add(name)
}

/** The longest name that the API contract allows. */
const NAME_LENGTH_MAX = 512
const REASON_LENGTH_MAX = 500

/** Cuts a reason, because it may quote a file's contents. */
function reasonOf(error: unknown): string {
  return messageOf(error).slice(0, REASON_LENGTH_MAX).toWellFormed()
}
