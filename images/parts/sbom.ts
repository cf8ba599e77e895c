// The bill of materials of an image, as CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json/): every package of npm and
// of Debian that the image has files of, and Node. Equal content makes equal bytes, so it has no time, and its serial
// number is made from what it lists.

import { createHash } from 'node:crypto'
import type { DebianPackage } from './base.ts'
import type { Locked, WantedPackage } from './lockfile.ts'

export interface Materials {
  readonly version: string
  readonly license: string
  /** The product itself has the empty path. */
  readonly packages: readonly WantedPackage[]
  readonly node: { readonly version: string; readonly integrity: string | undefined }
  readonly debian: readonly DebianPackage[]
  readonly architecture: string
}

interface Component {
  readonly 'bom-ref': string
  readonly type: 'application' | 'library'
  readonly name: string
  readonly version: string
  readonly purl: string
  readonly licenses?: readonly unknown[]
  readonly hashes?: readonly unknown[]
}

export function buildSbom(materials: Materials): string {
  const { version, license, packages } = materials
  const product = packages.find(({ path }) => path === '')
  const installed = packages.filter(({ path }) => path !== '')
  const refs = new Map(installed.map((each) => [each.path, refOf(each)]))
  const refsOf = (paths: readonly string[]): string[] =>
    paths.map((path) => refs.get(path)).filter((ref) => ref !== undefined)
  const platform = [nodeComponent(materials), ...debianComponents(materials)]
  const root = `quarry@${version}`
  const bill = {
    version: 1,
    metadata: {
      component: {
        'bom-ref': root,
        type: 'application',
        name: 'quarry',
        version,
        ...licensesOf({ license }),
      },
    },
    components: [...installed.map(npmComponent), ...platform],
    dependencies: [
      {
        ref: root,
        dependsOn: [...refsOf(product?.needs ?? []), ...platform.map((each) => each['bom-ref'])],
      },
      ...installed.map((each) => ({ ref: refOf(each), dependsOn: refsOf(each.needs) })),
    ],
  }
  const head = { bomFormat: 'CycloneDX', specVersion: '1.6', serialNumber: serialOf(bill) }
  return `${JSON.stringify({ ...head, ...bill }, undefined, 1)}\n`
}

/** The same package may lie at several places, each with its own needs. */
function refOf({ path }: WantedPackage): string {
  return path
}

function npmComponent(each: WantedPackage): Component {
  const { name, locked } = each
  const version = locked.version ?? ''
  return {
    'bom-ref': refOf(each),
    type: 'library',
    name,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    ...licensesOf(locked),
    ...hashesOf(locked),
  }
}

function nodeComponent({ node: { version, integrity } }: Materials): Component {
  const purl = `pkg:generic/node@${version}`
  const hashes = integrity === undefined ? {} : hashesOf({ integrity })
  return { 'bom-ref': purl, type: 'application', name: 'node', version, purl, ...hashes }
}

function debianComponents({ debian, architecture }: Materials): Component[] {
  return debian.map(({ name, version }) => {
    const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}`
    return { 'bom-ref': purl, type: 'library', name, version, purl }
  })
}

function licensesOf({ license }: Locked): Pick<Component, 'licenses'> {
  return license === undefined ? {} : { licenses: [{ expression: license }] }
}

function hashesOf({ integrity = '' }: Locked): Pick<Component, 'hashes'> {
  const [algorithm, digest = ''] = integrity.split('-')
  if (algorithm !== 'sha512') return {}
  return { hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }] }
}

/** A UUID of version 8: its bits are the maker's own. */
function serialOf(bill: unknown): string {
  const digest = createHash('sha256').update(JSON.stringify(bill)).digest('hex')
  const parts = [
    digest.slice(0, 8),
    digest.slice(8, 12),
    `8${digest.slice(13, 16)}`,
    `8${digest.slice(17, 20)}`,
    digest.slice(20, 32),
  ]
  return `urn:uuid:${parts.join('-')}`
}
