// Which packages of package-lock.json an image has: what the product depends on, for one platform.

import { assert } from '../../lib/assert.ts'
import type { Platform, Target } from './platform.ts'
import { LEFT_OUT_PACKAGES } from './left-out.ts'

/** A package of package-lock.json, as npm writes it. */
export interface Locked {
  readonly version?: string
  readonly license?: string
  /** `sha512-` and the digest in base64. */
  readonly integrity?: string
  readonly os?: string | readonly string[]
  readonly cpu?: string | readonly string[]
  readonly libc?: string | readonly string[]
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

export interface Lockfile {
  /** By their directories from the root; the product itself is at the empty path. */
  readonly packages: Readonly<Record<string, Locked>>
}

export interface WantedPackage {
  /** Its directory, such as `node_modules/@aws-sdk/core/node_modules/tslib`. */
  readonly path: string
  readonly name: string
  readonly locked: Locked
  /** The directories of those wanted packages that it needs. */
  readonly needs: readonly string[]
}

const FOLDER = 'node_modules/'
const NOTHING: Locked = {}

/** The product first, with the name `''`; then its packages in the order of their paths. */
export function wantedPackages(
  { packages }: Lockfile,
  { target, platform }: { readonly target: Target; readonly platform: Platform },
): readonly WantedPackage[] {
  const wanted = new Map<string, WantedPackage>()
  const pending = ['']
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    if (wanted.has(at)) continue
    const locked = packages[at] ?? NOTHING
    const needs = namesNeeded(locked)
      .filter((name) => !isLeftOut(name, target))
      .map((name) => directoryOf(packages, name, at))
      .filter((found) => found !== undefined && runsOn(packages[found] ?? NOTHING, platform))
      .filter((found) => found !== undefined)
      .toSorted()
    wanted.set(at, { path: at, name: nameAt(at), locked, needs })
    pending.push(...needs)
  }
  return [...wanted.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

function nameAt(at: string): string {
  return at === '' ? '' : at.slice(at.lastIndexOf(FOLDER) + FOLDER.length)
}

/** A peer that is optional is there only if somebody else needs it. */
function namesNeeded(locked: Locked): string[] {
  const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = locked
  const peers = Object.keys(peerDependencies ?? {}).filter(
    (name) => peerDependenciesMeta?.[name]?.optional !== true,
  )
  const names = [dependencies, optionalDependencies].flatMap((each) => Object.keys(each ?? {}))
  return [...new Set([...names, ...peers])]
}

function isLeftOut(name: string, target: Target): boolean {
  return LEFT_OUT_PACKAGES.some(
    ({ packages, targets = [target] }) => targets.includes(target) && packages.test(name),
  )
}

/** Where Node finds a package that is imported at `from`: in the nearest node_modules that has it. */
function directoryOf(
  packages: Lockfile['packages'],
  name: string,
  from: string,
): string | undefined {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf(`/${FOLDER}`)))) {
    const found = `${at === '' ? '' : `${at}/`}${FOLDER}${name}`
    if (Object.hasOwn(packages, found)) return found
    if (at === '') return undefined
    assert(at.startsWith(FOLDER), 'every package lies below node_modules of the root')
  }
}

function runsOn({ os, cpu, libc }: Locked, platform: Platform): boolean {
  return allows(os, 'linux') && allows(cpu, platform.cpu) && allows(libc, 'glibc')
}

function allows(given: string | readonly string[] | undefined, value: string): boolean {
  return given === undefined || [given].flat().includes(value)
}
