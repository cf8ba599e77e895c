import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'

const ROOT = path.resolve(import.meta.dirname, '../..')
const STATIC_IMPORT =
  /^(?:import|export)\s+(?!type\b)[^'";]*?from\s+'([^']+)'|^import\s+'([^']+)'/gm

/** All that is loaded with a file: sources by their paths, packages by their names. */
function loadedWith(entry: string): Set<string> {
  const loaded = new Set<string>()
  const pending = [entry]
  for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
    if (loaded.has(file)) continue
    loaded.add(file)
    if (!file.endsWith('.ts')) continue
    for (const [, from, alone] of readFileSync(path.join(ROOT, file), 'utf8').matchAll(
      STATIC_IMPORT,
    )) {
      const specifier = from ?? alone ?? ''
      const isSource = specifier.startsWith('.')
      if (isSource) pending.push(path.join(path.dirname(file), specifier))
      else if (!specifier.startsWith('node:')) loaded.add(specifier)
    }
  }
  return loaded
}

const packagesOf = (loaded: ReadonlySet<string>): string[] =>
  [...loaded].filter((name) => !name.endsWith('.ts')).toSorted()

describe('a call of the command line', () => {
  it('loads no command but the one that is called', () => {
    const loaded = loadedWith('cli/main.ts')

    expect([...loaded].filter((file) => file.startsWith('cli/commands/'))).to.deep.equal([])
    expect(packagesOf(loaded)).to.deep.equal(['commander'])
    expect(loaded.size).to.be.at.most(25)
  })

  for (const command of [
    'cluster',
    'documents',
    'indexes',
    'k8s',
    'query',
    'scan',
    'status',
    'table',
  ]) {
    it(`${command}: loads no server and no package that it does not need`, () => {
      const loaded = loadedWith(`cli/commands/${command}.ts`)

      expect([...loaded].filter((file) => /^(?:node|inference)\//.test(file))).to.deep.equal([])
      expect(packagesOf(loaded)).to.deep.equal(['commander'])
    })
  }
})

describe('the start of the operator', () => {
  it('loads nothing of servers, and of the client of Kubernetes no class of a kind: they took 40 MiB', () => {
    const loaded = loadedWith('operator/main.ts')

    expect([...loaded].filter((file) => /^(?:node|inference|door|cli)\//.test(file))).to.deep.equal(
      [],
    )
    expect(packagesOf(loaded)).to.deep.equal([
      '@bufbuild/protobuf/wire',
      '@grpc/grpc-js',
      '@kubernetes/client-node/dist/gen/http/http.js',
      '@kubernetes/client-node/dist/patch.js',
      '@peculiar/asn1-schema',
      '@peculiar/asn1-x509',
      'pino',
      'prom-client',
      'typebox',
      'typebox/value',
    ])
  })
})

describe('the start of an index worker', () => {
  it('loads no package but those of the text engine: validators are compiled when they are loaded', () => {
    const packages = packagesOf(loadedWith('node/index/kinds/index-worker.ts'))

    expect(packages.filter((name) => !name.startsWith('@orama/'))).to.deep.equal([
      'entities/lib/decode.js',
      'ipaddr.js',
    ])
  })
})
