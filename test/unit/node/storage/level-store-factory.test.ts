import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { InvariantError } from '../../../../lib/assert.ts'
import { systemClock } from '../../../../lib/clock.ts'
import { LevelKvStore } from '../../../../node/storage/level-kv-store.ts'
import { LevelStoreFactory } from '../../../../node/storage/level-store-factory.ts'
import { put, textsOf } from '../../../conformance/kv-store.ts'
import { errorOf } from '../../../support/error-of.ts'

const SYNC = { sync: true }

describe('LevelStoreFactory', () => {
  let root = ''
  const openFactory = (): Promise<LevelStoreFactory> =>
    LevelStoreFactory.open(root, { clock: systemClock, ownLog: 'replay' })
  beforeEach(async () => {
    root = path.join(await mkdtemp(path.join(tmpdir(), 'quarry-stores-')), 'stores')
  })
  afterEach(() => rm(path.dirname(root), { recursive: true, force: true }))

  it('keeps stores apart by name, and finds them again', async () => {
    const factory = await openFactory()
    for (const name of ['b', 'a']) {
      await using store = await factory.open(name)
      await store.write([put(name, '1')], SYNC)
    }

    const again = await openFactory()
    await using store = await again.open('a')

    expect(await again.list()).to.deep.equal(['a', 'b'])
    expect(await textsOf(store)).to.deep.equal(['a=1'])
  })

  it('destroys a store with its files, and accepts a missing one', async () => {
    const factory = await openFactory()
    const store = await factory.open('a')
    await store.write([put('a', '1')], SYNC)
    await store.close()

    await factory.destroy('a')
    await factory.destroy('a')
    await using fresh = await factory.open('a')

    expect(await textsOf(fresh)).to.deep.equal([])
    expect(await readdir(root)).to.deep.equal(['a'])
  })

  it('replaces a store by another directory, also where a crash has left none', async () => {
    const factory = await openFactory()
    for (const name of ['a', 'b']) {
      const from = path.join(path.dirname(root), `new-${name}`)
      await using store = await LevelKvStore.open(from, { clock: systemClock })
      await store.write([put(name, 'new')], SYNC)
    }
    const old = await factory.open('a')
    await old.write([put('a', 'old')], SYNC)
    const held = await errorOf(() => factory.replace('a', path.join(path.dirname(root), 'new-a')))
    await old.close()

    await factory.replace('a', path.join(path.dirname(root), 'new-a'))
    await factory.replace('b', path.join(path.dirname(root), 'new-b'))

    await using a = await factory.open('a')
    await using b = await factory.open('b')
    expect(held).to.include({ code: 'UNAVAILABLE' })
    expect([await textsOf(a), await textsOf(b)]).to.deep.equal([['a=new'], ['b=new']])
    expect(await readdir(path.dirname(root))).to.deep.equal(['stores'])
    expect((await readdir(root)).toSorted()).to.deep.equal(['a', 'b'])
  })

  it('finishes a removal that a crash interrupted', async () => {
    const factory = await openFactory()
    await mkdir(path.join(root, 'a.removed'))
    await writeFile(path.join(root, 'a.removed', 'CURRENT'), 'half')
    expect(await factory.list()).to.deep.equal([])

    await openFactory()

    expect(await readdir(root)).to.deep.equal([])
  })

  it('destroys again under a name whose last removal was interrupted', async () => {
    const factory = await openFactory()
    await mkdir(path.join(root, 'a.removed', 'left'), { recursive: true })
    await (await factory.open('a')).close()

    await factory.destroy('a')

    expect(await readdir(root)).to.deep.equal([])
  })

  it('lists neither files nor directories of others', async () => {
    const factory = await openFactory()
    await mkdir(path.join(root, 'lost+found'))
    await writeFile(path.join(root, 'file'), '')

    expect(await factory.list()).to.deep.equal([])
  })

  it('names the directory of a store that is already open', async () => {
    const factory = await openFactory()
    await using held = await factory.open('a')

    const error = await errorOf(() => factory.open('a'))

    expect(error).to.include({ code: 'UNAVAILABLE' })
    expect(error).to.have.property('message').that.includes(path.join(root, 'a'))
    expect(await textsOf(held)).to.deep.equal([])
  })

  for (const name of ['', '..', 'a/b', 'A', '-a', 'a.removed', 'a'.repeat(65)]) {
    it(`fails an assertion for the name "${name}"`, async () => {
      const factory = await openFactory()

      expect(await errorOf(() => factory.open(name))).to.be.instanceOf(InvariantError)
      expect(await errorOf(() => factory.destroy(name))).to.be.instanceOf(InvariantError)
    })
  }
})
