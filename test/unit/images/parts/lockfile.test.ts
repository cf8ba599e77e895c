import { expect } from 'chai'
import { wantedPackages, type Lockfile } from '../../../../images/parts/lockfile.ts'
import { PLATFORMS, type Target } from '../../../../images/parts/platform.ts'
import { must } from '../../../../lib/assert.ts'

const AMD64 = must(PLATFORMS[0], 'a platform')

function pathsOf(packages: Lockfile['packages'], target: Target = 'node'): string[] {
  return wantedPackages({ packages }, { target, platform: AMD64 }).map(({ path }) => path)
}

describe('wantedPackages', () => {
  it('follows dependencies to the nearest node_modules that has them', () => {
    const packages = {
      '': { dependencies: { a: '1' } },
      'node_modules/a': { dependencies: { b: '2', c: '1' } },
      'node_modules/a/node_modules/b': { dependencies: { c: '1' } },
      'node_modules/b': {},
      'node_modules/c': {},
    }

    expect(pathsOf(packages)).to.deep.equal([
      '',
      'node_modules/a',
      'node_modules/a/node_modules/b',
      'node_modules/c',
    ])
  })

  it('leaves out what only development needs, and optional peers', () => {
    const packages = {
      '': { dependencies: { a: '1' }, devDependencies: { tool: '1' } },
      'node_modules/a': {
        peerDependencies: { needed: '1', tool: '1' },
        peerDependenciesMeta: { tool: { optional: true } },
      },
      'node_modules/needed': {},
      'node_modules/tool': {},
    }

    expect(pathsOf(packages)).to.deep.equal(['', 'node_modules/a', 'node_modules/needed'])
  })

  it('takes optional packages for this platform alone', () => {
    const optionalDependencies = { arm: '1', mac: '1', musl: '1', own: '1', wasm: '1' }
    const packages = {
      '': { optionalDependencies },
      'node_modules/arm': { os: ['linux'], cpu: ['arm64'] },
      'node_modules/mac': { os: 'darwin' },
      'node_modules/musl': { os: ['linux'], cpu: ['x64'], libc: ['musl'] },
      'node_modules/own': { os: ['linux'], cpu: ['x64'], libc: ['glibc'] },
      'node_modules/wasm': { cpu: ['wasm32'] },
    }

    expect(pathsOf(packages)).to.deep.equal(['', 'node_modules/own'])
  })

  it('has what runs models in the image for inference alone', () => {
    const packages = {
      '': { dependencies: { 'onnxruntime-node': '1' } },
      'node_modules/onnxruntime-node': { dependencies: { 'onnxruntime-common': '1' } },
      'node_modules/onnxruntime-common': {},
    }

    expect(pathsOf(packages)).to.deep.equal([''])
    expect(pathsOf(packages, 'inference')).to.have.length(3)
  })

  it('ends where packages need each other', () => {
    const packages = {
      '': { dependencies: { a: '1' } },
      'node_modules/a': { dependencies: { b: '1' } },
      'node_modules/b': { dependencies: { a: '1' } },
    }

    expect(pathsOf(packages)).to.have.length(3)
  })
})
