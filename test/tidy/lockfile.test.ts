// What `npm ci` installs: everything has a digest, nothing needs a script, and the product needs nothing that
// only development has.

import { readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import path from 'node:path'
import { expect } from 'chai'
import { importsOf, layeredFiles, ROOT } from './imports.ts'

interface Locked {
  readonly integrity?: string
  readonly resolved?: string
  readonly link?: boolean
  readonly hasInstallScript?: boolean
  readonly license?: string
}

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>
  readonly optionalDependencies: Readonly<Record<string, string>>
}

const readText = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8')
const manifest: Manifest = JSON.parse(readText('package.json'))
const lock: { packages: Record<string, Locked> } = JSON.parse(readText('package-lock.json'))
const installed = Object.entries(lock.packages).filter(([at]) => at.includes('node_modules/'))

/** The packages that bring a script, and why they do without it. */
const SCRIPTS: Readonly<Record<string, string>> = {
  '@scarf/scarf': 'counts installations',
  'classic-level': 'finds its prebuilt binary when it is loaded',
  'faiss-node': 'optional: test/ci/build-faiss.sh builds it where its library is',
  lmdb: 'its binaries are packages of their own',
  'msgpackr-extract': 'its binaries are packages of their own',
  'onnxruntime-node': 'holds all binaries for the CPU; the script fetches those for CUDA',
  protobufjs: 'checks the version that a dependent names',
  usearch: 'finds its prebuilt binary when it is loaded',
}

const PRODUCT = /^(?:bin|cli|door|node|inference|lib|openapi)\//

describe('package-lock.json', () => {
  it('has a digest of every package, and no address beside the registry', () => {
    const loose = installed.filter(([, { link, integrity = '', resolved }]) => {
      return link !== true && (!integrity.startsWith('sha512-') || resolved !== undefined)
    })

    expect(installed.length).to.be.greaterThan(100)
    expect(loose.map(([at]) => at)).to.deep.equal([])
  })

  it('brings scripts only with packages that work without theirs', () => {
    const names = installed
      .filter(([, { hasInstallScript }]) => hasInstallScript === true)
      .map(([at]) => at.slice(at.lastIndexOf('node_modules/') + 'node_modules/'.length))

    expect(names.filter((name) => !(name in SCRIPTS))).to.deep.equal([])
    expect(Object.keys(SCRIPTS).filter((name) => !names.includes(name))).to.deep.equal([])
    expect(readText('.npmrc')).to.match(/^ignore-scripts=true$/m)
  })

  it('brings packages of a copyleft licence only if NOTICE names them', () => {
    const named = [...readText('NOTICE').matchAll(/@img\/[a-z0-9-]+\*?/g)].map(([name]) => name)
    const copyleft = installed
      .filter(([, { license = '' }]) => /GPL|MPL|EPL|CDDL|SSPL/.test(license))
      .map(([at]) => at.replace('node_modules/', ''))
    const unnamed = copyleft.filter(
      (name) => !named.some((each) => name.startsWith(each.replace('*', ''))),
    )

    expect(copyleft.length).to.be.greaterThan(0)
    expect(unnamed).to.deep.equal([])
  })

  it('brings a Node for each system that bin/quarry knows', () => {
    const known = [...readText('bin/quarry').matchAll(/'(?<name>node-[a-z0-9-]+)\/bin\//g)]
    const names = known.map(({ groups }) => groups?.['name'])
    const locked = Object.keys(manifest.optionalDependencies).filter((name) =>
      name.startsWith('node-'),
    )

    expect(names).to.have.members(locked)
    expect(names.filter((name) => !(`node_modules/${name}` in lock.packages))).to.deep.equal([])
  })
})

describe('package.json', () => {
  it('counts what the product imports among its dependencies', () => {
    const known = { ...manifest.dependencies, ...manifest.optionalDependencies }
    const wanted = layeredFiles()
      .filter((file) => PRODUCT.test(file))
      .flatMap((file) => importsOf(file).map((found) => ({ file, ...found })))
      .filter(({ typeOnly, specifier }) => !typeOnly && /^[@a-z]/.test(specifier))
      .filter(({ specifier }) => !isBuiltin(specifier))

    const missing = wanted.filter(({ specifier }) => !(packageOf(specifier) in known))

    expect(wanted.length).to.be.greaterThan(20)
    expect(missing.map(({ file, specifier }) => `${file}: ${specifier}`)).to.deep.equal([])
  })
})

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}
