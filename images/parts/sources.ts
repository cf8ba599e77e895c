// The product itself, as it lies in the checkout, and the two files that an image has besides: what it was made of, and
// the command.

import { existsSync } from 'node:fs'
import path from 'node:path'
import { directoryEntry, entryOf, filesBelow, QUARRY_USER, textEntry } from '../files/entries.ts'
import type { ImageEntry } from '../files/entries.ts'
import type { Target } from './platform.ts'
import { APP } from './packages.ts'

/** What runs, by the folders of the checkout; those that a checkout does not have are skipped. */
const FOLDERS = [
  'bin',
  'cli',
  'clients/typescript/src',
  'door',
  'inference',
  'lib',
  'node',
  'openapi',
  'operator',
]
const FILES = ['LICENSE', 'NOTICE', 'package.json']
/** Models that come with the product: only an inference server reads them. */
const MODELS = 'inference/builtin-models/'

/** The directory of a node's data, where a volume is mounted. */
export const DATA_DIRECTORY = 'var/lib/quarry'
export const COMMAND = 'usr/local/bin/quarry'

/** Runs `quarry` without `env`, which the base of an image does not have. */
const COMMAND_TEXT = `#!/usr/local/bin/node
require('/${APP}/bin/quarry')
`

export interface SourceOptions {
  readonly target: Target
  /** Of the checkout. Undefined if nobody knows it. */
  readonly commit: string | undefined
  readonly sbom: string
}

export function filesOfSources(
  root: string,
  { target, commit, sbom }: SourceOptions,
): readonly ImageEntry[] {
  const folders = FOLDERS.filter((folder) => existsSync(path.join(root, folder)))
  const files = [
    ...FILES,
    ...folders.flatMap((folder) =>
      [...filesBelow(path.join(root, folder))].map((file) => path.posix.join(folder, file)),
    ),
  ].filter((file) => target === 'inference' || !file.startsWith(MODELS))
  return [
    ...files.map((file) => entryOf(path.posix.join(APP, file), path.join(root, file))),
    ...(commit === undefined ? [] : [textEntry(`${APP}/build.json`, buildFile(commit))]),
    textEntry(`${APP}/sbom.cdx.json`, sbom),
    textEntry(COMMAND, COMMAND_TEXT, 0o755),
    directoryEntry(DATA_DIRECTORY, { mode: 0o750, owner: QUARRY_USER }),
  ]
}

/** Read by lib/process/product.ts. */
function buildFile(commit: string): string {
  return `${JSON.stringify({ git_commit: commit })}\n`
}
