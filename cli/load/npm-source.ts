// The installed packages of a project as documents: real data that is present on every machine.

import { readdir, readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { EXIT } from '../../lib/process/exit-codes.ts'
import { CliError } from '../process/exit.ts'
import { buildPackageDocument } from './package-document.ts'
import type { DocumentSource, SourceItem, SourceProgress } from './document-source.ts'
import type { PackageSize } from './package-document.ts'

const README = /^readme(?:\.(?:md|markdown|txt|rst))?$/i

interface InstalledPackage {
  readonly directory: string
  readonly manifest: object
  readonly key: string
}

/** One document for each `name@version`, in the order of the walk. Further copies are skipped. */
export class NpmSource implements DocumentSource {
  readonly remarks = []
  readonly reportPath = undefined
  readonly #packages: readonly string[]
  #done = 0

  constructor(packages: readonly string[]) {
    this.#packages = packages
  }

  async *items(): AsyncIterable<SourceItem> {
    const seen = new Set<string>()
    for (const directory of this.#packages) {
      this.#done += 1
      const found = await readPackage(directory)
      if (found === undefined || seen.has(found.key)) continue
      seen.add(found.key)
      const document = buildPackageDocument(found.manifest, {
        readme: await readReadme(directory),
        size: await measure(directory),
      })
      const json = Buffer.from(JSON.stringify(document))
      yield { kind: 'document', document: { line: this.#done, key: found.key, json } }
    }
  }

  progress(): SourceProgress {
    return { done: this.#done, total: this.#packages.length }
  }
}

/** Lists the packages below a node_modules directory. Throws a CliError if it cannot be read. */
export async function openNpmSource(nodeModules: string): Promise<NpmSource> {
  const packages = await listPackages(nodeModules).catch((cause: unknown) => {
    const remedy = 'run npm ci first, or give another directory with --npm DIR'
    throw new CliError(EXIT.usage, 'FILE', `no packages in ${nodeModules}: ${remedy}`, { cause })
  })
  return new NpmSource(packages.toSorted())
}

/** Package directories, nested ones included. Links are not followed, because they may form a cycle. */
async function listPackages(nodeModules: string): Promise<string[]> {
  const pending = [nodeModules]
  const found: string[] = []
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      if (!entry.isDirectory() || entry.name.startsWith('.')) continue
      const directory = path.join(folder, entry.name)
      if (entry.name.startsWith('@')) {
        pending.push(directory)
        continue
      }
      found.push(directory)
      const nested = path.join(directory, 'node_modules')
      if (await isDirectory(nested)) pending.push(nested)
    }
  }
  return found
}

async function isDirectory(directory: string): Promise<boolean> {
  const found = await stat(directory).catch(() => undefined)
  return found?.isDirectory() === true
}

async function readPackage(directory: string): Promise<InstalledPackage | undefined> {
  const text = await readFile(path.join(directory, 'package.json'), 'utf8').catch(() => undefined)
  const manifest = text === undefined ? undefined : parseManifest(text)
  if (manifest === undefined) return undefined
  const { name, version } = manifest
  return { directory, manifest, key: `${name}@${version}` }
}

function parseManifest(text: string): { name: string; version: string } | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined // some packages ship broken manifests as test data
  }
  return isManifest(value) ? value : undefined
}

function isManifest(value: unknown): value is { name: string; version: string } {
  if (typeof value !== 'object' || value === null) return false
  if (!('name' in value && 'version' in value)) return false
  return typeof value.name === 'string' && typeof value.version === 'string'
}

async function readReadme(directory: string): Promise<string | undefined> {
  const name = (await readdir(directory)).find((entry) => README.test(entry))
  if (name === undefined) return undefined
  return readFile(path.join(directory, name), 'utf8').catch(() => undefined)
}

/** The files and bytes of a package without its nested packages. */
async function measure(directory: string): Promise<PackageSize> {
  const pending = [directory]
  let files = 0
  let bytes = 0
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      const found = path.join(folder, entry.name)
      if (entry.isDirectory() && entry.name !== 'node_modules') pending.push(found)
      if (!entry.isFile()) continue
      files += 1
      bytes += (await stat(found)).size
    }
  }
  return { files, bytes }
}
