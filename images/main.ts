// `npm run image`: makes an image of this checkout, without a registry.
//
//   --out DIRECTORY   writes an OCI image layout
//   --rootfs          writes a tar of all but the base to standard output, which images/Dockerfile puts above its own

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { isServiceError, ServiceError } from '../lib/errors.ts'
import { bytesOf, IMAGE_BYTES_MAX, planImage, type ImageRequest } from './build-image.ts'
import { parseImageCommand } from './config.ts'
import { completeEntries } from './files/entries.ts'
import { writeLayout } from './oci/layout.ts'
import { packTar } from './oci/tar.ts'

const ROOT = path.resolve(import.meta.dirname, '..')
const MEGABYTE = 1_000_000

try {
  await main(process.argv.slice(2))
} catch (error) {
  if (!isServiceError(error)) throw error
  process.stderr.write(`error: ${error.message}\n`)
  process.exitCode = 1
}

async function main(args: readonly string[]): Promise<void> {
  const { out, debs, target, platform, source, name, ...given } = parseImageCommand(args)
  const commit = given.commit === undefined ? await commitOf(ROOT) : given.commit || undefined
  const request = { root: ROOT, target, platform, commit, source, name }
  if (out === undefined) return writeRootfs(request)
  const work = await mkdtemp(path.join(tmpdir(), 'quarry-image-'))
  try {
    await writeImage({ ...request, base: { debs, work } }, path.resolve(out))
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

async function writeImage(request: ImageRequest, directory: string): Promise<void> {
  const { image, idle } = await planImage(request)
  for (const { reason, files } of idle) {
    process.stderr.write(`nothing is left out by ${files} (${reason})\n`)
  }
  const bytes = bytesOf(image)
  const bytesMax = IMAGE_BYTES_MAX[request.target]
  if (bytes > bytesMax) {
    const problem = `${image.reference} has ${bytes} bytes, and may have ${bytesMax}`
    throw new ServiceError('PAYLOAD_TOO_LARGE', problem)
  }
  const digest = await writeLayout(directory, image)
  const size = `${(bytes / MEGABYTE).toFixed(1)} MB unpacked`
  process.stdout.write(`${image.reference} ${digest} ${size}\n`)
}

async function writeRootfs(request: Omit<ImageRequest, 'base'>): Promise<void> {
  const { image } = await planImage({ ...request, base: undefined })
  const entries = completeEntries(image.layers.flatMap((layer) => layer.entries))
  await pipeline(packTar(entries), process.stdout)
}

/** With `-dirty`, if a file that git knows has changed. Undefined outside of a repository. */
async function commitOf(root: string): Promise<string | undefined> {
  if (!existsSync(path.join(root, '.git'))) return undefined
  const args = ['describe', '--always', '--abbrev=40', '--dirty', '--exclude', '*']
  const { stdout } = await promisify(execFile)('git', args, { cwd: root })
  return stdout.trim()
}
