// What `npm run image` is asked for, on its command line.

import { homedir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { ServiceError } from '../lib/errors.ts'
import { PLATFORMS, TARGETS, type Platform, type Target } from './parts/platform.ts'

/** Where packages of Debian are kept between images. */
export const DEBS = path.join(homedir(), '.cache', 'quarry-image', 'debs')

export interface ImageCommand {
  /** Where the layout goes; undefined: a tar of all but the base goes to standard output. */
  readonly out: string | undefined
  readonly target: Target
  readonly platform: Platform
  readonly debs: string
  /** Undefined: that of the checkout. Empty: nobody knows it. */
  readonly commit: string | undefined
  /** Where the sources are published: the label `org.opencontainers.image.source`. */
  readonly source: string | undefined
  /** `[REGISTRY/]NAME:TAG`. Undefined: the name of the target, with the version. */
  readonly name: string | undefined
}

/** As registries take it. The tag is needed: a layout is one image. */
const REFERENCE =
  /^(?:[a-z0-9.-]+(?::\d+)?\/)?[a-z0-9]+(?:[._/-][a-z0-9]+)*:[A-Za-z0-9_][\w.-]{0,127}$/

export function parseImageCommand(args: readonly string[]): ImageCommand {
  const { values } = parseArgs({
    args: [...args],
    options: {
      out: { type: 'string' },
      rootfs: { type: 'boolean', default: false },
      target: { type: 'string', default: 'node' },
      platform: { type: 'string', default: ownPlatform() },
      debs: { type: 'string', default: DEBS },
      commit: { type: 'string' },
      source: { type: 'string' },
      name: { type: 'string' },
    },
  })
  const { out, rootfs, debs, commit, source, name: reference } = values
  if ((out === undefined) !== rootfs) {
    throw usage('give --out DIRECTORY for an image layout, or --rootfs for a tar without a base')
  }
  const target = TARGETS.find((each) => each === values.target)
  if (target === undefined) throw usage(`--target is one of ${TARGETS.join(', ')}`)
  const platform = PLATFORMS.find(({ name }) => name === values.platform)
  const names = PLATFORMS.map(({ name }) => name)
  if (platform === undefined) throw usage(`--platform is one of ${names.join(', ')}`)
  if (reference !== undefined && !REFERENCE.test(reference)) {
    throw usage(`--name is not NAME:TAG: ${reference}`)
  }
  return { out, target, platform, debs, commit, source, name: reference }
}

function ownPlatform(): string {
  return process.arch === 'arm64' ? 'linux/arm64' : 'linux/amd64'
}

function usage(problem: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', problem)
}
