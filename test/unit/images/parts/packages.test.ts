import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import type { WantedPackage } from '../../../../images/parts/lockfile.ts'
import { filesOfPackages } from '../../../../images/parts/packages.ts'
import { PLATFORMS } from '../../../../images/parts/platform.ts'
import { must } from '../../../../lib/assert.ts'

const AMD64 = must(PLATFORMS[0], 'a platform')

/** Files that lie in a package, and whether an image has them. */
const FILES: Readonly<Record<string, boolean>> = {
  'package.json': true,
  'LICENSE.md': true,
  'README.md': false,
  'index.js': true,
  'index.js.map': false,
  'index.d.ts': false,
  'source.ts': false,
  'test/run.js': false,
  'latest/run.js': true,
  'prebuilds/linux-x64/addon.node': true,
  'prebuilds/linux-x64/addon.musl.node': false,
  'prebuilds/linux-arm64/addon.node': false,
  'prebuilds/darwin-arm64+x64/addon.node': false,
  'node_modules/inner/index.js': false,
}

describe('filesOfPackages', () => {
  let root: string

  beforeEach(async () => {
    root = await mkdtemp(path.join(tmpdir(), 'quarry-packages-'))
    for (const file of Object.keys(FILES)) {
      const at = path.join(root, 'node_modules/some', file)
      await mkdir(path.dirname(at), { recursive: true })
      await writeFile(at, '')
    }
  })
  afterEach(() => rm(root, { recursive: true }))

  it('leaves out what nothing runs, and packages that lie inside', () => {
    const { entries } = filesOfPackages(root, wanted('some'), AMD64)

    const kept = Object.keys(FILES).filter((file) => FILES[file])
    expect(entries.map((entry) => entry.path)).to.have.members(
      kept.map((file) => `app/node_modules/some/${file}`),
    )
  })

  it('names rules that left nothing out, but not those of absent packages', () => {
    const { idle } = filesOfPackages(root, wanted('some'), AMD64)

    expect(idle.map(({ within }) => within)).to.deep.equal(idle.map(() => undefined))
    expect(idle.some(({ reason }) => reason === 'source maps')).to.equal(false)
    expect(idle.some(({ reason }) => reason.startsWith('sources of binaries'))).to.equal(true)
  })

  it('makes no image without a package, and says how to get it', () => {
    expect(() => filesOfPackages(root, wanted('other'), AMD64)).to.throw(
      'not installed: other; run npm ci --omit=dev --os=linux --cpu=x64 --libc=glibc in this checkout',
    )
  })
})

function wanted(name: string): WantedPackage[] {
  return [{ path: `node_modules/${name}`, name, locked: {}, needs: [] }]
}
