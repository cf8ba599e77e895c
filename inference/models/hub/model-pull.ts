// Pulls a model from a hub's repository into a model directory. Only `quarry models pull` runs it.

import { readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import type { Clock } from '../../../lib/clock.ts'
import { ServiceError } from '../../../lib/errors.ts'
import type { Random } from '../../../lib/random.ts'
import { isMissing } from '../model-folders.ts'
import { FOLDER_BY_KIND } from '../model-spec.ts'
import type { ModelKind } from '../model-spec.ts'
import { downloadFile } from './file-download.ts'
import { selectFiles } from './file-selection.ts'
import type { SelectedFiles } from './file-selection.ts'
import { linkOrCopy } from './folders.ts'
import { HubClient } from './hub-client.ts'
import type { HubSettings, Repository } from './hub-client.ts'
import type { HubFile } from './hub-listing.ts'
import { HubRetry } from './hub-retry.ts'
import type { RetryParts } from './hub-retry.ts'
import { detectKind } from './kind-detection.ts'
import { sourceOf } from './model-manifest.ts'
import type { ManifestFile } from './model-manifest.ts'
import { ModelsFolder } from './models-folder.ts'

const CONFIG_FILE = 'config.json'
const CONFIG_BYTES_MAX = 16 * 1024 * 1024

/** The model to pull, and the place for it. */
export interface PullRequest {
  readonly repository: Repository
  readonly hub: HubSettings
  readonly modelsDir: string
  /** Undefined: detected from the repository. */
  readonly kind: ModelKind | undefined
  /** Undefined: the most exact one. */
  readonly variant: string | undefined
}

/** Receives the progress of a pull, in order. */
export interface PullWatcher {
  /** Called once, when the files to download are known. */
  onPlan(plan: { readonly files: number; readonly bytes: number }): void
  /** Called with the bytes of a file received so far. It may come before the plan. */
  onFileBytes(file: HubFile, bytes: number): void
  /** Called before a retry, with the reason. */
  onRetry(why: string): void
}

/** The parts of a pull. */
export interface PullParts {
  readonly clock: Clock
  readonly random: Random
  readonly watcher: PullWatcher
}

/** The model after a pull. */
export interface PulledModel {
  readonly kind: ModelKind
  readonly variant: string
  readonly directory: string
  readonly files: number
  readonly bytes: number
}

/** Pulls a model. After an abort or a failure, the next pull of the model continues with its files. */
export function pullModel(
  request: PullRequest,
  parts: PullParts,
  signal: AbortSignal,
): Promise<PulledModel> {
  return new ModelPull(request, parts, signal).run()
}

class ModelPull {
  readonly #request: PullRequest
  readonly #parts: PullParts
  readonly #signal: AbortSignal
  readonly #client: HubClient
  readonly #models: ModelsFolder

  constructor(request: PullRequest, parts: PullParts, signal: AbortSignal) {
    this.#request = request
    this.#parts = parts
    this.#signal = signal
    this.#client = new HubClient(request.hub)
    this.#models = new ModelsFolder(request.modelsDir)
  }

  async run(): Promise<PulledModel> {
    const { repository, variant } = this.#request
    const listed = await this.#listFiles()
    const folder = await this.#models.openPull(repository)
    const kind = this.#request.kind ?? (await this.#detectKind(listed, folder))
    const selected = selectFiles(listed, { kind, variant })
    const bytes = selected.files.reduce((sum, file) => sum + file.bytes, 0)
    this.#parts.watcher.onPlan({ files: selected.files.length, bytes })

    const installed = this.#models.directoryOf(kind, repository)
    const files: ManifestFile[] = []
    for (const file of selected.files) {
      await reuse(file, { from: installed, to: folder })
      const sha256 = await this.#download(file, folder)
      files.push({ name: file.path, digest: `sha256:${sha256}`, size: file.bytes })
    }
    const directory = await this.#install(kind, selected, files)
    return { kind, variant: selected.variant, directory, files: files.length, bytes }
  }

  async #listFiles(): Promise<HubFile[]> {
    const retry = new HubRetry(this.#retryParts())
    for (;;) {
      try {
        return await this.#client.listFiles(this.#request.repository, this.#signal)
      } catch (error) {
        await retry.after(error, this.#signal)
      }
    }
  }

  async #detectKind(listed: readonly HubFile[], folder: string): Promise<ModelKind> {
    const { name } = this.#request.repository
    const paths = listed.map((file) => file.path)
    const config = await this.#readConfig(listed, folder)
    const kind = detectKind({ name, paths, config })
    if (kind !== undefined) return kind
    const kinds = Object.values(FOLDER_BY_KIND).join(', ')
    const message = `the kind of this model cannot be detected: add --kind, one of ${kinds}`
    throw new ServiceError('INVALID_ARGUMENT', message)
  }

  async #readConfig(listed: readonly HubFile[], folder: string): Promise<unknown> {
    const file = listed.find(({ path: name }) => name === CONFIG_FILE)
    if (file === undefined || file.bytes > CONFIG_BYTES_MAX) return undefined
    await this.#download(file, folder)
    try {
      return JSON.parse(await readFile(path.join(folder, CONFIG_FILE), 'utf8'))
    } catch {
      return undefined // other files may show the kind
    }
  }

  #download(file: HubFile, folder: string): Promise<string> {
    const { repository } = this.#request
    const onBytes = (bytes: number): void => this.#parts.watcher.onFileBytes(file, bytes)
    const parts = { client: this.#client, onBytes, ...this.#retryParts() }
    return downloadFile({ repository, file, folder }, parts, this.#signal)
  }

  #install(
    kind: ModelKind,
    { variant, graphs }: SelectedFiles,
    files: readonly ManifestFile[],
  ): Promise<string> {
    const { repository } = this.#request
    const { owner, name } = repository
    const downloadedAt = new Date(this.#parts.clock.nowMs()).toISOString()
    return this.#models.install(kind, {
      owner,
      name,
      source: sourceOf(repository),
      type: kind,
      files,
      variants: { [variant]: graphs.map((graph) => graph.path) },
      provenance: { downloadedFrom: this.#request.hub.endpoint, downloadedAt },
    })
  }

  #retryParts(): RetryParts {
    const { clock, random, watcher } = this.#parts
    return { clock, random, onRetry: (why) => watcher.onRetry(why) }
  }
}

/** An installed file, such as the tokenizer of another variant, need not be downloaded again. */
async function reuse(
  file: HubFile,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<void> {
  const [source, target] = [path.join(from, file.path), path.join(to, file.path)]
  if ((await hasSize(target, file.bytes)) || !(await hasSize(source, file.bytes))) return
  await linkOrCopy(source, target)
}

async function hasSize(file: string, bytes: number): Promise<boolean> {
  try {
    const found = await stat(file)
    return found.isFile() && found.size === bytes
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}
