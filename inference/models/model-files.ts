// Finds the files of one model directory by the names that exporters use, and reads them with limits.

import { readFile, readdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { ServiceError, messageOf } from '../../lib/errors.ts'
import { ConfigFields } from './config-fields.ts'
import { VARIANT_BY_SUFFIX } from './graph-variants.ts'

const CONFIG_BYTES_MAX = 8 * 1024 * 1024
const TEMPLATE_BYTES_MAX = 1024 * 1024
const FILES_MAX = 2_000
/** The folders of graphs: beside the configuration, or in the folder that exporters create. */
const GRAPH_FOLDERS = ['', 'onnx/']

/** A graph with its variant. */
export interface GraphFile {
  readonly variant: string
  /** The path relative to the model's directory. */
  readonly file: string
}

/**
 * The files that a directory had when it was listed. Reading rejects with INVALID_ARGUMENT for
 * files that are too large or malformed.
 */
export class ModelFiles {
  readonly directory: string
  /** Sizes by path, relative to the directory, with `/` between folders. */
  readonly #bytes: ReadonlyMap<string, number>

  private constructor(directory: string, bytes: ReadonlyMap<string, number>) {
    this.directory = directory
    this.#bytes = bytes
  }

  static async list(directory: string): Promise<ModelFiles> {
    const bytes = new Map<string, number>()
    for (const folder of ['', ...(await foldersOf(directory))]) {
      const names = await readdir(path.join(directory, folder))
      for (const name of names) {
        if (bytes.size >= FILES_MAX) throw refuse(`it has more than ${FILES_MAX} files`)
        const found = await stat(path.join(directory, folder, name)).catch(() => undefined)
        if (found?.isFile() === true) bytes.set(folder + name, found.size)
      }
    }
    return new ModelFiles(directory, bytes)
  }

  has(file: string): boolean {
    return this.#bytes.has(file)
  }

  get hasGraph(): boolean {
    return this.#bytes.keys().some((file) => file.endsWith('.onnx'))
  }

  /** The graphs with the first of the stems that exists, one for each variant. */
  graphs(stems: readonly string[]): GraphFile[] {
    for (const stem of stems) {
      const found = [...VARIANT_BY_SUFFIX].flatMap(([suffix, variant]) => {
        const file = this.#graph(stem + suffix)
        return file === undefined ? [] : [{ variant, file }]
      })
      const byVariant = new Map(found.toReversed().map((graph) => [graph.variant, graph]))
      if (byVariant.size > 0) {
        return [...byVariant.values()].toSorted((a, b) => (a.variant < b.variant ? -1 : 1))
      }
    }
    return []
  }

  /** The graph with one of the stems in this variant, or else in any variant. */
  graphLike(stems: readonly string[], variant: string): string | undefined {
    const graphs = stems.flatMap((stem) => this.graphs([stem]))
    const same = graphs.find((graph) => graph.variant === variant)
    return (same ?? graphs[0])?.file
  }

  /** The bytes of the files and of their external weights. */
  bytesOf(files: readonly string[]): number {
    return this.#bytes
      .entries()
      .filter(([name]) => files.some((file) => name === file || isExternalData(name, file)))
      .reduce((sum, [, bytes]) => sum + bytes, 0)
  }

  async config(file: string): Promise<ConfigFields> {
    return new ConfigFields(file, await this.json(file))
  }

  /** The parsed JSON of a file; undefined if it is missing. */
  async json(file: string): Promise<unknown> {
    const text = await this.#read(file, CONFIG_BYTES_MAX)
    if (text === undefined) return undefined
    try {
      const content: unknown = JSON.parse(text)
      return content
    } catch (cause) {
      throw refuse(`${file} is not JSON: ${messageOf(cause)}`, cause)
    }
  }

  template(file: string): Promise<string | undefined> {
    return this.#read(file, TEMPLATE_BYTES_MAX)
  }

  async #read(file: string, bytesMax: number): Promise<string | undefined> {
    const bytes = this.#bytes.get(file)
    if (bytes === undefined) return undefined
    if (bytes > bytesMax) throw refuse(`${file} is larger than ${bytesMax} bytes`)
    return readFile(path.join(this.directory, file), 'utf8')
  }

  #graph(stem: string): string | undefined {
    return GRAPH_FOLDERS.map((folder) => `${folder}${stem}.onnx`).find((file) => this.has(file))
  }
}

/** Whether a file holds weights of a graph: `X.onnx_data`, `X.onnx_data_1` or `X.onnx.data`. */
export function isExternalData(file: string, graph: string): boolean {
  return file.startsWith(graph) && /^(?:_data(?:_\d+)?|\.data)$/.test(file.slice(graph.length))
}

/** The existing folders whose files belong to the model. */
async function foldersOf(directory: string): Promise<string[]> {
  const known = ['onnx', '1_Pooling']
  const checks = known.map(async (name) => {
    const found = await stat(path.join(directory, name)).catch(() => undefined)
    return found?.isDirectory() === true ? [`${name}/`] : []
  })
  return (await Promise.all(checks)).flat()
}

/** The error for a model directory that cannot be served. */
export function refuse(problem: string, cause?: unknown): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', problem, { cause })
}
