import { expect } from 'chai'
import { inputOf } from '../../../support/operator/cluster-inputs.ts'
import { StepWorld, WRITTEN } from '../../../support/operator/step-world.ts'

const CONFIG = 'ConfigMap/books-config'
const SERVICE = 'Service/books'
const POLICY = 'NetworkPolicy/books-node'
const EDITED = { metadata: { labels: { 'app.kubernetes.io/part-of': 'edited' } } }

describe('apply_children', () => {
  it('applies Secrets before everything else, and each object as the builders order them', async () => {
    const world = await StepWorld.open()
    world.outdatedSecrets = ['Secret/books-secret']
    for (const name of [CONFIG, SERVICE]) await world.merge(name, EDITED)
    const before = world.fake.requests.length

    const names = [SERVICE, CONFIG, 'Secret/books-secret']
    const outcome = await world.carryOut({ kind: 'apply_children', names }, await world.context())

    const writes = world.fake.requests.slice(before).filter(({ verb }) => !isRead(verb))
    expect(outcome).to.equal('done')
    expect(writes.map(({ plural, name }) => `${plural}/${name}`)).to.deep.equal([
      'secrets/books-secret',
      'configmaps/books-config',
      'services/books',
    ])
  })

  for (const [status, answer] of [
    [422, 'invalid'],
    [403, 'forbidden'],
    [409, 'outdated'],
    [404, 'absent'],
  ] as const) {
    it(`applies the others although one is refused with ${status}`, async () => {
      const world = await StepWorld.open()
      for (const name of [CONFIG, SERVICE, POLICY]) await world.merge(name, EDITED)
      world.fake.faults.add({ verbs: ['apply'], times: 1, status })

      const names = [CONFIG, SERVICE, POLICY]
      const outcome = await world.carryOut({ kind: 'apply_children', names }, await world.context())

      const labels = await Promise.all(
        names.map(async (name) => (await world.must(name)).metadata.labels ?? {}),
      )
      expect(outcome).to.equal(answer)
      expect(labels.map((one) => one['app.kubernetes.io/part-of'])).to.deep.equal([
        'edited',
        'quarry',
        'quarry',
      ])
    })
  }

  it('asks for no other object while the API does not answer', async () => {
    const world = await StepWorld.open()
    for (const name of [CONFIG, SERVICE]) await world.merge(name, EDITED)
    world.fake.faults.add({ verbs: ['apply'], times: 1, status: 0 })
    const before = world.writes()

    const names = [CONFIG, SERVICE]
    const outcome = await world.carryOut({ kind: 'apply_children', names }, await world.context())

    expect(outcome).to.equal('transient')
    expect(world.writes()).to.equal(before + 1)
  })
})

describe('delete_children', () => {
  it('deletes nothing that the spec asks for', async () => {
    const world = await StepWorld.open()

    const step = { kind: 'delete_children', names: [POLICY] } as const
    const outcome = await world.carryOut(step, await world.context())

    expect(outcome).to.equal('outdated')
    expect(await world.get(POLICY)).to.not.equal(undefined)
  })

  it('makes an object again that is asked for later', async () => {
    const world = await StepWorld.open()
    const { uid } = world.input.cluster
    const off = inputOf({ ...WRITTEN, networkPolicy: { enabled: false } })
    const on = world.input
    world.input = { ...off, cluster: { ...off.cluster, uid } }
    const names = [POLICY]
    await world.carryOut({ kind: 'delete_children', names }, await world.context())
    const gone = await world.get(POLICY)
    world.input = on

    const outcome = await world.carryOut({ kind: 'apply_children', names }, await world.context())

    expect(gone).to.equal(undefined)
    expect(outcome).to.equal('done')
    expect(await world.get(POLICY)).to.not.equal(undefined)
  })
})

function isRead(verb: string): boolean {
  return verb === 'get' || verb === 'list'
}
