// The lowest layer: what Node, its native modules and a container need of Debian, from Debian's packages. No package
// manager, no compiler, no tools but the shell that bounds processes.

import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { ServiceError } from '../../lib/errors.ts'
import {
  directoryEntry,
  entryOf,
  filesBelow,
  linkEntry,
  QUARRY_USER,
  textEntry,
  type ImageEntry,
} from '../files/entries.ts'
import type { Platform } from './platform.ts'

const run = promisify(execFile)
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024

/** By package, which of its files an image has. All keep their copyright. */
const KEPT: Readonly<Record<string, { readonly files: RegExp; readonly reason: string }>> = {
  'base-files': {
    files: /^usr\/(?:lib\/os-release|share\/common-licenses\/.*)$/,
    reason: 'says which Debian it is, to scanners; the licences to which copyrights refer',
  },
  'ca-certificates': {
    files: /^usr\/share\/ca-certificates\/.*\.crt$/,
    reason: 'whom a client of TLS believes',
  },
  dash: {
    files: /^usr\/bin\/(?:da)?sh$/,
    reason:
      'lib/bounded-node.ts limits the memory of workers and of readers of files through /bin/sh',
  },
  libc6: {
    files: /^usr\/lib(?:64)?\/(?!.*\/(?:gconv|audit)\/).*\.so[.\d]*$/,
    reason: 'Node and its native modules link it',
  },
  'libgcc-s1': { files: /\/libgcc_s\.so/, reason: 'Node and its native modules link it' },
  'libstdc++6': { files: /^usr\/lib\/[^/]+\/libstdc\+\+\.so/, reason: 'Node links it' },
  tini: { files: /^usr\/bin\/tini$/, reason: 'the first process of a container' },
  tzdata: {
    files: /^usr\/share\/zoneinfo\/(?!posix\/|right\/)/,
    reason: 'names of time zones that TZ may have',
  },
}
/** The packages of GCC have their copyright in one that is named like its version. */
const GCC_BASE = /\bgcc-\d+-base\b/

const PASSWD = `root:x:0:0:root:/root:/sbin/nologin
quarry:x:${QUARRY_USER}:${QUARRY_USER}:Quarry:/var/lib/quarry:/sbin/nologin
nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin
`
const GROUP = `root:x:0:
quarry:x:${QUARRY_USER}:
nogroup:x:65534:
`
const NSSWITCH = 'passwd: files\ngroup: files\nhosts: files dns\n'

/** A package of Debian that an image has files of. */
export interface DebianPackage {
  readonly name: string
  readonly version: string
}

export interface Base {
  readonly entries: readonly ImageEntry[]
  readonly packages: readonly DebianPackage[]
}

/** Directories of this machine. */
export interface BasePlaces {
  /** Has packages of Debian, and gets those that are missing, with `apt-get download`. */
  readonly debs: string
  /** Where packages are unpacked. The entries are read from there. */
  readonly work: string
}

export async function buildBase({ debs, work }: BasePlaces, platform: Platform): Promise<Base> {
  await mkdir(debs, { recursive: true })
  const names = Object.keys(KEPT)
  await fetchMissing(debs, names, platform)
  const gcc = GCC_BASE.exec(await fieldOf(await debOf(debs, 'libgcc-s1', platform), 'Depends'))
  const all = [...names, ...(gcc === null ? [] : [gcc[0]])].toSorted()
  await fetchMissing(debs, all, platform)
  const entries = []
  const packages: DebianPackage[] = []
  for (const name of all) {
    const deb = await debOf(debs, name, platform)
    const root = path.join(work, name)
    await mkdir(root, { recursive: true })
    await run('dpkg-deb', ['--extract', deb, root])
    const version = await fieldOf(deb, 'Version')
    packages.push({ name, version })
    entries.push(...(await entriesOf(root, name)), await statusEntry(deb, name))
  }
  return { entries: [...entries, ...ownEntries()], packages }
}

async function entriesOf(root: string, name: string): Promise<ImageEntry[]> {
  const kept = KEPT[name]?.files
  const copyright = `usr/share/doc/${name}/copyright`
  const entries = [...filesBelow(root)]
    .map((file) => ({ file, at: merged(file) }))
    .filter(({ at }) => at === copyright || (kept?.test(at) ?? false))
    .map(({ file, at }) => entryOf(at, path.join(root, file)))
  if (name !== 'ca-certificates') return entries
  const rest = entries.filter(({ path: at }) => !at.endsWith('.crt'))
  return [...rest, await certificates(root)]
}

/** Newer Debians have everything below /usr, and links to it; packages of older ones do not know yet. */
function merged(file: string): string {
  return /^(?:bin|sbin|lib|lib64)\//.test(file) ? `usr/${file}` : file
}

/** One file of all of them, as update-ca-certificates writes it. */
async function certificates(root: string): Promise<ImageEntry> {
  const files = [...filesBelow(root)].filter((file) => file.endsWith('.crt')).toSorted()
  const texts = await Promise.all(files.map((file) => readFile(path.join(root, file), 'utf8')))
  // Some of the files have no line feed at their end: two certificates in one line would spoil the whole file.
  const whole = texts.map((text) => `${text.trimEnd()}\n`)
  return textEntry('etc/ssl/certs/ca-certificates.crt', whole.join(''))
}

/** Where scanners look for packages in an image without dpkg. */
async function statusEntry(deb: string, name: string): Promise<ImageEntry> {
  const { stdout } = await run('dpkg-deb', ['--field', deb], { maxBuffer: OUTPUT_BYTES_MAX })
  return textEntry(`var/lib/dpkg/status.d/${name}`, stdout)
}

function ownEntries(): ImageEntry[] {
  return [
    linkEntry('bin', 'usr/bin'),
    linkEntry('lib', 'usr/lib'),
    linkEntry('lib64', 'usr/lib64'),
    linkEntry('etc/os-release', '../usr/lib/os-release'),
    textEntry('etc/passwd', PASSWD),
    textEntry('etc/group', GROUP),
    textEntry('etc/nsswitch.conf', NSSWITCH),
    directoryEntry('tmp', { mode: 0o1777 }),
    ...['dev', 'proc', 'root', 'run', 'sys', 'var/tmp'].map((at) => directoryEntry(at)),
  ]
}

async function fetchMissing(
  debs: string,
  names: readonly string[],
  platform: Platform,
): Promise<void> {
  const there = await readdir(debs)
  const missing = names.filter((name) => !there.some((file) => isDebOf(file, name, platform)))
  if (missing.length === 0) return
  const wanted = missing.map((name) => `${name}:${platform.architecture}`)
  try {
    await run('apt-get', ['download', '--quiet', ...wanted], { cwd: debs })
  } catch (error) {
    const problem = `packages of Debian are missing in ${debs}, and apt-get cannot download them`
    throw new ServiceError('UNAVAILABLE', `${problem}: ${wanted.join(' ')}`, { cause: error })
  }
}

async function debOf(debs: string, name: string, platform: Platform): Promise<string> {
  const found = (await readdir(debs)).filter((file) => isDebOf(file, name, platform))
  const [file] = found
  if (file !== undefined && found.length === 1) return path.join(debs, file)
  throw new ServiceError('INVALID_ARGUMENT', `${debs} has ${found.length} packages ${name}`)
}

function isDebOf(file: string, name: string, { architecture }: Platform): boolean {
  const [found, , rest = ''] = file.split('_')
  return found === name && [`${architecture}.deb`, 'all.deb'].includes(rest)
}

async function fieldOf(deb: string, field: string): Promise<string> {
  const { stdout } = await run('dpkg-deb', ['--field', deb, field])
  return stdout.trim()
}
