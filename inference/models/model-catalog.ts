// The models of a models directory, found once at the start:
//
//   MODELS_DIR/<kind>/<name>/            MODELS_DIR/<kind>/<owner>/<name>/
//
// Invariants:
//   K1  What is listed can be asked for by its name; what is skipped is listed with the reason.
//   K2  A directory that cannot be served never keeps others from being served.

import { readdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { messageOf } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import { ModelFiles } from './model-files.ts'
import { MODEL_KINDS } from './model-spec.ts'
import type { ModelKind, ModelSpec, SpecOf } from './model-spec.ts'
import { parseModel } from './parse-model.ts'

export const FOLDER_BY_KIND: Readonly<Record<ModelKind, string>> = {
  embedder: 'embedders',
  chunker: 'chunkers',
  reranker: 'rerankers',
  generator: 'generators',
  recognizer: 'recognizers',
  rewriter: 'rewriters',
}

const MODELS_PER_KIND_MAX = 1_000

export interface SkippedModel {
  /** Relative to the models directory. */
  readonly directory: string
  readonly reason: string
}

export class ModelCatalog {
  readonly skipped: readonly SkippedModel[]
  readonly #specs: ReadonlyMap<ModelKind, readonly ModelSpec[]>

  constructor(
    specs: ReadonlyMap<ModelKind, readonly ModelSpec[]>,
    skipped: readonly SkippedModel[],
  ) {
    this.#specs = specs
    this.skipped = skipped
  }

  /** In the order of their names. */
  ofKind(kind: ModelKind): readonly ModelSpec[] {
    return this.#specs.get(kind) ?? []
  }

  /** By a listed name, a name with `:` before its variant, or a name without its variant. */
  find<Kind extends ModelKind>(kind: Kind, name: string): SpecOf<Kind> | undefined {
    const specs = this.ofKind(kind).filter((spec): spec is SpecOf<Kind> => spec.kind === kind)
    const listed = name.replace(/:([^:/]+)$/, '-$1')
    const variants = specs.filter((spec) => baseNameOf(spec) === name)
    // Quantized rerankers come before the full one, which has the bare name.
    const preferred = kind === 'reranker' ? bestOf(variants, RERANKER_ORDER) : undefined
    const exact = specs.find(
      (spec) => spec.name === listed || `${baseNameOf(spec)}-${spec.variant}` === listed,
    )
    return preferred ?? exact ?? bestOf(variants, VARIANT_ORDER)
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

export async function scanModels(root: string, log: Log): Promise<ModelCatalog> {
  const specs = new Map<ModelKind, readonly ModelSpec[]>()
  const skipped: SkippedModel[] = []
  const skip = (directory: string, reason: string): void => {
    skipped.push({ directory, reason })
    log.warn('model directory skipped', { directory, reason })
  }
  for (const kind of MODEL_KINDS) {
    const found: ModelSpec[] = []
    const names = await directoriesOf(root, kind)
    for (const name of names.slice(0, MODELS_PER_KIND_MAX)) {
      const directory = `${FOLDER_BY_KIND[kind]}/${name}`
      try {
        const files = await ModelFiles.list(path.join(root, directory))
        found.push(...(await parseModel(kind, name, files)))
      } catch (error) {
        skip(directory, messageOf(error))
      }
    }
    if (names.length > MODELS_PER_KIND_MAX) {
      const reason = `it has ${names.length} models; the first ${MODELS_PER_KIND_MAX} are served`
      skip(FOLDER_BY_KIND[kind], reason)
    }
    specs.set(
      kind,
      found.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    )
  }
  return new ModelCatalog(specs, skipped)
}

/** Names of model directories, of one or two parts. A directory without graphs may be an owner's. */
async function directoriesOf(root: string, kind: ModelKind): Promise<string[]> {
  const folder = path.join(root, FOLDER_BY_KIND[kind])
  const names: string[] = []
  for (const name of await foldersIn(folder)) {
    const inner = await foldersIn(path.join(folder, name))
    const owned = inner.filter((each) => !OWN_FOLDERS.has(each))
    const isModel = await hasModelFile(path.join(folder, name))
    if (isModel || owned.length === 0) names.push(name)
    else names.push(...owned.map((each) => `${name}/${each}`))
  }
  return names
}

const OWN_FOLDERS: ReadonlySet<string> = new Set(['onnx', '1_Pooling', '2_Normalize', '2_Dense'])

async function hasModelFile(directory: string): Promise<boolean> {
  const names = await readdir(directory).catch(() => [])
  return names.some((name) => name.endsWith('.onnx') || name.endsWith('.json') || name === 'onnx')
}

/** Symbolic links count as what they point to; names with a dot in front are nobody's models. */
async function foldersIn(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch(() => [])
  const folders: string[] = []
  for (const name of names.toSorted((a, b) => (a < b ? -1 : 1))) {
    if (name.startsWith('.')) continue
    const found = await stat(path.join(directory, name)).catch(() => undefined)
    if (found?.isDirectory() === true) folders.push(name)
  }
  return folders
}
