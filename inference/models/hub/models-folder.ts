// The models directory for `quarry models`: it installs, lists and removes models.
//
// Invariants:
//   MF1  A model directory appears, changes and disappears only by renames. It never holds a part of a
//        pull.
//   MF2  A pull collects its files in `.pulls/<owner>/<name>/`, in the same file system, until they
//        are complete. A removed model is deleted in `.removed`. The server reads neither folder,
//        because they are not folders of kinds.

import { lstat, mkdir, rename, rm, unlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { ServiceError } from '../../../lib/errors.ts'
import { holdsModel, isFolder, modelNamesIn } from '../model-folders.ts'
import { FOLDER_BY_KIND, MODEL_KINDS } from '../model-spec.ts'
import type { ModelKind } from '../model-spec.ts'
import { graphVariantOf } from './file-selection.ts'
import { filesBelow, linkOrCopy, readIfThere, removeIfEmpty, syncToDisk } from './folders.ts'
import type { Repository } from './hub-client.ts'
import {
  buildManifest,
  MANIFEST_FILE,
  NO_CONTENT,
  parseManifestContent,
  parseSource,
  sourceOf,
} from './model-manifest.ts'
import type { ManifestContent, ManifestFacts } from './model-manifest.ts'
import type { ModelName } from './model-name.ts'

const PULLS = '.pulls'
const REMOVED = '.removed'

/** A model in the models directory. */
export interface InstalledModel {
  /** `owner/name`, or only `name`. */
  readonly name: string
  readonly kind: ModelKind
  readonly variants: readonly string[]
  /** The bytes of all its files. */
  readonly bytes: number
}

type ModelPlace = Pick<InstalledModel, 'kind' | 'name'>

/** One models directory. Its methods reject with the errors of the file system. */
export class ModelsFolder {
  readonly #root: string

  constructor(root: string) {
    this.#root = path.resolve(root)
  }

  /** The directory of a model, whether it exists or not. */
  directoryOf(kind: ModelKind, { owner, name }: ModelName): string {
    return this.#directoryOf({ kind, name: `${owner}/${name}` })
  }

  /** The folder in which a pull collects its files. It is created if necessary. */
  async openPull({ owner, name }: ModelName): Promise<string> {
    const folder = path.join(this.#root, PULLS, owner, name, 'files')
    await mkdir(folder, { recursive: true })
    return folder
  }

  /**
   * Puts a complete pull in place of the model directory. Files that the pull does not replace, such
   * as those of other variants, are kept.
   */
  async install(kind: ModelKind, facts: ManifestFacts): Promise<string> {
    const target = this.directoryOf(kind, facts)
    const pull = path.join(this.#root, PULLS, facts.owner, facts.name)
    const files = path.join(pull, 'files')
    await this.#restore(kind, facts)
    await removeOthers(files, new Set(facts.files.map((file) => file.name)))
    const before = await this.#carryOver(target, files)
    const manifest = buildManifest(facts, before)
    await writeFile(path.join(files, MANIFEST_FILE), `${JSON.stringify(manifest, undefined, 2)}\n`)
    await syncAll(files)
    await mkdir(path.dirname(target), { recursive: true })
    const old = path.join(pull, 'replaced')
    if (await isFolder(target)) await rename(target, old)
    await rename(files, target)
    await this.#syncNamesAbove(target)
    await rm(pull, { recursive: true })
    await removeIfEmpty(path.dirname(pull))
    await removeIfEmpty(path.join(this.#root, PULLS))
    return target
  }

  /** The model that a pull of a revision has left here, of any kind unless one is given; undefined if there is none. */
  async pulled(
    repository: Repository,
    { kind }: { readonly kind: ModelKind | undefined },
  ): Promise<InstalledModel | undefined> {
    const { owner, name } = repository
    for (const each of kind === undefined ? MODEL_KINDS : [kind]) {
      const directory = this.directoryOf(each, repository)
      // What lies there is complete (MF1), and a manifest is written only by a pull.
      const manifest = await readIfThere(path.join(directory, MANIFEST_FILE))
      if (parseSource(manifest) !== sourceOf(repository) || !(await holdsModel(directory))) continue
      return this.#describe(each, `${owner}/${name}`)
    }
    return undefined
  }

  /** All models, by kind and name. */
  async list(): Promise<InstalledModel[]> {
    const models: InstalledModel[] = []
    for (const kind of MODEL_KINDS) {
      for (const name of await modelNamesIn(this.#root, kind, throwOnKind)) {
        const isThere = await holdsModel(this.#directoryOf({ kind, name }))
        if (isThere) models.push(await this.#describe(kind, name))
      }
    }
    return models
  }

  /** Renames the directory, then deletes it. A symbolic link is removed without its target. */
  async remove({ kind, name }: ModelPlace): Promise<void> {
    const target = this.#directoryOf({ kind, name })
    if ((await lstat(target)).isSymbolicLink()) return unlink(target)
    const doomed = path.join(this.#root, REMOVED, kind, name)
    await rm(doomed, { recursive: true, force: true })
    await mkdir(path.dirname(doomed), { recursive: true })
    await rename(target, doomed)
    await rm(path.join(this.#root, REMOVED), { recursive: true })
    if (name.includes('/')) await removeIfEmpty(path.dirname(target))
  }

  #directoryOf({ kind, name }: ModelPlace): string {
    return path.join(this.#root, FOLDER_BY_KIND[kind], name)
  }

  /** A new folder is durable only when the folder above it is synced. */
  async #syncNamesAbove(target: string): Promise<void> {
    let folder = target
    while (folder !== this.#root) {
      folder = path.dirname(folder)
      await syncToDisk(folder)
    }
  }

  /** Repairs the directory after a pull that died between the two renames of `install`. */
  async #restore(kind: ModelKind, name: ModelName): Promise<void> {
    const target = this.directoryOf(kind, name)
    const old = path.join(this.#root, PULLS, name.owner, name.name, 'replaced')
    if ((await isFolder(old)) && !(await isFolder(target))) await rename(old, target)
    await rm(old, { recursive: true, force: true })
  }

  async #carryOver(from: string, to: string): Promise<ManifestContent> {
    if (!(await isFolder(from))) return NO_CONTENT
    const replaced = new Set(await filesBelow(to))
    for (const file of await filesBelow(from)) {
      if (replaced.has(file) || file === MANIFEST_FILE) continue
      await linkOrCopy(path.join(from, file), path.join(to, file))
    }
    return parseManifestContent(await readIfThere(path.join(from, MANIFEST_FILE)))
  }

  async #describe(kind: ModelKind, name: string): Promise<InstalledModel> {
    const directory = this.#directoryOf({ kind, name })
    const files = await filesBelow(directory)
    const sizes = await Promise.all(files.map((file) => lstat(path.join(directory, file))))
    const { variants } = parseManifestContent(
      await readIfThere(path.join(directory, MANIFEST_FILE)),
    )
    const named = Object.keys(variants)
    return {
      name,
      kind,
      variants: named.length > 0 ? named.toSorted() : variantsByName(files),
      bytes: sizes.reduce((sum, { size }) => sum + size, 0),
    }
  }
}

/** Syncs every file and every folder, the innermost first. */
async function syncAll(folder: string): Promise<void> {
  const names = await filesBelow(folder)
  for (const name of names) await syncToDisk(path.join(folder, name))
  const folders = new Set(names.map((name) => path.join(folder, path.dirname(name))))
  for (const each of [...folders].toSorted((a, b) => b.length - a.length)) await syncToDisk(each)
}

/** Ignores a single unreadable model, such as a broken link, but not an unreadable folder of a kind. */
function throwOnKind(name: string, error: ServiceError): void {
  if (name === '') throw error
}

/** Removes the files that an earlier pull of another variant has left. */
async function removeOthers(folder: string, wanted: ReadonlySet<string>): Promise<void> {
  for (const file of await filesBelow(folder)) {
    if (!wanted.has(file)) await rm(path.join(folder, file))
  }
}

/** The variants of a directory without a manifest, by the names of its graphs. */
function variantsByName(files: readonly string[]): string[] {
  return [...new Set(files.flatMap((file) => graphVariantOf(file) ?? []))].toSorted()
}
