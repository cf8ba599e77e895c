// Writes one image as an OCI image layout (https://github.com/opencontainers/image-spec, version 1.1): a directory
// that `skopeo`, `crane`, `podman` and containerd read without a registry.
//
//   oci-layout                 the version of the layout
//   index.json                 names the manifest
//   blobs/sha256/DIGEST        manifest, configuration, and a gzipped tar for each layer
//
// Invariants:
//   OL1  Equal layers and an equal configuration make equal files, so equal digests.
//   OL2  A blob has its name only when it is whole.

import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { ImageEntry } from '../files/entries.ts'
import { packTar } from './tar.ts'

const MEDIA_TYPE = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
} as const

/** What is told as the time of everything: the same content has the same digest on each day. */
const NO_TIME = '1970-01-01T00:00:00Z'
/** Of zlib's levels the one with which a layer takes seconds. */
const GZIP_LEVEL = 6

export interface ImageLayer {
  /** What `docker history` shows. */
  readonly comment: string
  /** Directories before what they hold. */
  readonly entries: readonly ImageEntry[]
}

/** How a container of the image is started: `config` of the OCI image configuration. */
export interface ImageConfig {
  readonly User: string
  readonly Env: readonly string[]
  readonly Entrypoint: readonly string[]
  readonly WorkingDir: string
  readonly StopSignal: string
  readonly Labels: Readonly<Record<string, string>>
}

export interface Image {
  /** `[REGISTRY/]NAME:TAG`. */
  readonly reference: string
  readonly architecture: string
  readonly config: ImageConfig
  /** The lowest first. */
  readonly layers: readonly ImageLayer[]
}

interface Descriptor {
  readonly mediaType: string
  readonly digest: string
  readonly size: number
}

/** Writes the layout into `directory`, whose former layout it replaces, and answers the digest of the manifest. */
export async function writeLayout(directory: string, image: Image): Promise<string> {
  const blobs = path.join(directory, 'blobs', 'sha256')
  await rm(path.join(directory, 'blobs'), { recursive: true, force: true })
  await mkdir(blobs, { recursive: true })
  const layers = []
  for (const { entries } of image.layers) layers.push(await writeLayer(blobs, entries))
  const config = await writeJson(blobs, MEDIA_TYPE.config, {
    created: NO_TIME,
    architecture: image.architecture,
    os: 'linux',
    config: image.config,
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    history: image.layers.map(({ comment }) => ({ created: NO_TIME, created_by: comment })),
  })
  const { Labels: annotations } = image.config
  const manifest = await writeJson(blobs, MEDIA_TYPE.manifest, {
    schemaVersion: 2,
    mediaType: MEDIA_TYPE.manifest,
    config,
    layers: layers.map(({ descriptor }) => descriptor),
    annotations,
  })
  await writeFile(path.join(directory, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}')
  await writeFile(path.join(directory, 'index.json'), JSON.stringify(indexOf(image, manifest)))
  return manifest.digest
}

/** A kubelet puts it before a name without a registry, and finds an image that was imported by its whole name alone. */
const DEFAULT_REGISTRY = 'docker.io'
const DEFAULT_FOLDER = 'library'

/** As Docker reads a reference: the first part is a registry if it has a dot or a port, or is this machine. */
function wholeName(reference: string): string {
  const [first = '', ...rest] = reference.split('/')
  if (rest.length === 0) return `${DEFAULT_REGISTRY}/${DEFAULT_FOLDER}/${reference}`
  const isRegistry = first === 'localhost' || /[.:]/.test(first)
  return isRegistry ? reference : `${DEFAULT_REGISTRY}/${reference}`
}

function indexOf({ reference, architecture }: Image, manifest: Descriptor): unknown {
  const tag = reference.slice(reference.lastIndexOf(':') + 1)
  const annotations = {
    // containerd names an imported image by the first, other programs by the second.
    'io.containerd.image.name': wholeName(reference),
    'org.opencontainers.image.ref.name': tag,
  }
  return {
    schemaVersion: 2,
    mediaType: MEDIA_TYPE.index,
    manifests: [{ ...manifest, platform: { architecture, os: 'linux' }, annotations }],
  }
}

async function writeLayer(
  blobs: string,
  entries: readonly ImageEntry[],
): Promise<{ readonly descriptor: Descriptor; readonly diffId: string }> {
  const unpacked = new Digest()
  const packed = new Digest()
  const file = path.join(blobs, 'layer.part')
  // A gzip header of zlib has neither a name nor a time.
  const gzip = createGzip({ level: GZIP_LEVEL })
  await pipeline(packTar(entries), unpacked, gzip, packed, createWriteStream(file))
  await rename(file, path.join(blobs, packed.hex()))
  const descriptor = { mediaType: MEDIA_TYPE.layer, digest: packed.name(), size: packed.bytes }
  return { descriptor, diffId: unpacked.name() }
}

async function writeJson(blobs: string, mediaType: string, value: unknown): Promise<Descriptor> {
  const bytes = Buffer.from(JSON.stringify(value))
  const hex = createHash('sha256').update(bytes).digest('hex')
  await writeFile(path.join(blobs, hex), bytes)
  return { mediaType, digest: `sha256:${hex}`, size: bytes.length }
}

/** Passes bytes on and counts them. */
class Digest extends Transform {
  readonly #hash = createHash('sha256')
  #hex: string | undefined
  bytes = 0

  override _transform(
    chunk: Buffer,
    _encoding: BufferEncoding,
    done: (error: null, chunk: Buffer) => void,
  ): void {
    this.#hash.update(chunk)
    this.bytes += chunk.length
    done(null, chunk)
  }

  /** Of all bytes that have passed; no more may follow. */
  hex(): string {
    return (this.#hex ??= this.#hash.digest('hex'))
  }

  name(): string {
    return `sha256:${this.hex()}`
  }
}
