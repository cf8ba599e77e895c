// What the whole operator tells of what people must mend, and that it continues as soon as they have.

import { expect } from 'chai'
import { conditionOf } from '../support/operator/scene.ts'
import { SINGLE_NODE } from '../support/store-clusters.ts'
import { useScene } from '../support/operator/use-scene.ts'

describe('the operator, over what people must mend', function () {
  this.timeout(120_000)

  const scene = useScene(import.meta.filename)
  const specValid = (name: string, status: 'True' | 'False') =>
    scene().becomes(
      name,
      `has SpecValid ${status}`,
      (told) => conditionOf(told, 'SpecValid')?.status === status,
    )

  it('refuses a version two minors up, and takes the one that was', async () => {
    await scene().apply('books', { ...SINGLE_NODE, version: '1.2.0' })
    await scene().ready('books')
    const pods = await scene().uids('Pod', 'books')

    await scene().edit('books', { version: '1.4.0' })
    const told = await specValid('books', 'False')
    await scene().edit('books', { version: null })
    const mended = await specValid('books', 'True')
    await scene().ready('books')

    expect(conditionOf(told, 'SpecValid')?.message).to.include('1.4.0')
    expect(mended.targetVersion).to.equal('1.2.0')
    expect(await scene().uids('Pod', 'books')).to.deep.equal(pods)
  })

  it("leaves somebody else's Service alone, and makes its own when that one is gone", async () => {
    const theirs = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'plays' },
      spec: { ports: [{ port: 1234 }] },
    }
    await scene().namespace.apply(theirs)
    await scene().apply('plays', SINGLE_NODE)

    const told = await scene().becomes('plays', 'tells of the name', ({ conditions }) =>
      Boolean(conditions?.some(({ message }) => message.includes('Service/plays'))),
    )
    const port = await scene().namespace.value('service', 'plays', '{.spec.ports[0].port}')
    await scene().namespace.kubectl(['delete', 'service', 'plays'])
    await scene().ready('plays')

    expect(conditionOf(told, 'SpecValid')?.status).to.equal('False')
    expect(port).to.equal('1234')
    const own = await scene().namespace.value('service', 'plays', '{.spec.ports[*].port}')
    expect(own).to.include('8080')
  })

  it('waits for a Secret that the spec names, and starts as soon as it is there', async () => {
    await scene().apply('poems', { ...SINGLE_NODE, secretStoreRef: { name: 'given' } })

    const told = await scene().becomes('poems', 'tells of the Secret', ({ conditions }) =>
      Boolean(conditions?.some(({ message }) => message.includes('given'))),
    )
    const pods = await scene().uids('Pod', 'poems')
    await scene().namespace.apply({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'given' },
      stringData: { key: 'v' },
    })
    await scene().ready('poems')

    expect(conditionOf(told, 'Ready')?.status).to.equal('False')
    expect(pods).to.deep.equal({})
  })
})
