// The files of the packages that an image has, from the checkout's node_modules.

import { existsSync } from 'node:fs'
import path from 'node:path'
import { ServiceError } from '../../lib/errors.ts'
import { entryOf, filesBelow, type ImageEntry } from '../files/entries.ts'
import type { Platform } from './platform.ts'
import { leftOutFiles, type LeftOutFiles } from './left-out.ts'
import type { WantedPackage } from './lockfile.ts'

/** Where the product lies in an image. */
export const APP = 'app'

export interface PackageFiles {
  readonly entries: readonly ImageEntry[]
  /** Rules that left nothing out of a package that is there: a dead one hides that the package has changed. */
  readonly idle: readonly LeftOutFiles[]
}

/** Throws NOT_FOUND for packages that are not installed: an image is whole or not made. */
export function filesOfPackages(
  root: string,
  wanted: readonly WantedPackage[],
  platform: Platform,
): PackageFiles {
  const packages = wanted.filter(({ path: at }) => at !== '')
  const missing = packages.filter(({ path: at }) => !existsSync(path.join(root, at)))
  if (missing.length > 0) throw notInstalled(missing, platform)
  const rules = leftOutFiles(platform)
  const used = new Set<LeftOutFiles>()
  const entries = packages.flatMap(({ path: at, name }) =>
    filesOf(path.join(root, at))
      .filter((file) => {
        const rule = rules.find(({ within = name, files }) => within === name && files.test(file))
        if (rule !== undefined) used.add(rule)
        return rule === undefined
      })
      .map((file) => entryOf(path.posix.join(APP, at, file), path.join(root, at, file))),
  )
  const names = new Set(packages.map(({ name }) => name))
  const idle = rules.filter((rule) => !used.has(rule))
  return { entries, idle: idle.filter(({ within }) => within === undefined || names.has(within)) }
}

/** Without the packages inside: those are wanted by themselves, or not. */
function filesOf(directory: string): string[] {
  return [...filesBelow(directory, (below) => path.basename(below) !== 'node_modules')]
}

function notInstalled(missing: readonly WantedPackage[], { cpu }: Platform): ServiceError {
  const names = missing.map(({ name }) => name).join(', ')
  const how = `npm ci --omit=dev --os=linux --cpu=${cpu} --libc=glibc`
  return new ServiceError('NOT_FOUND', `not installed: ${names}; run ${how} in this checkout`)
}
