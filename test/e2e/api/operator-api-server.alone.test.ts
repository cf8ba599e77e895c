// The API server's process ends and starts again under an operator that runs.

import path from 'node:path'
import { expect } from 'chai'
import { OperatorProcess } from '../support/operator/operator-process.ts'
import { operatorUser } from '../support/operator/tested-operator.ts'
import { useScene } from '../support/operator/use-scene.ts'
import { outputOf } from '../support/program.ts'
import { SINGLE_NODE } from '../support/store-clusters.ts'
import { KUBE } from '../support/tier.ts'

const RESTART = path.join(KUBE, 'restart-api')

describe('the operator, over an API server that restarts', function () {
  this.timeout(240_000)

  const scene = useScene(import.meta.filename, { isStarted: false })

  it('sees an object deleted and a spec changed right after it, and does not end', async () => {
    // Without a Lease: a leader that cannot renew its own for ten seconds ends, as it is to.
    const user = operatorUser(scene().namespace)
    await using operator = new OperatorProcess(scene().namespace, { user })
    await scene().apply('books', SINGLE_NODE)
    await scene().ready('books')
    const service = await scene().uids('Service', 'books')
    // Nothing but what is changed below begins a pass, or the operator's own clock.
    scene().kubelet.hurries = false

    await outputOf([RESTART])
    await scene().namespace.kubectl(['delete', 'service', 'books'])
    await scene().namespace.kubectl(['wait', '--for=create', 'service/books', '--timeout=60s'])
    const again = await scene().uids('Service', 'books')
    await scene().edit('books', { logLevel: 'Debug' })
    const status = await scene().ready('books')

    expect(again['books']).to.not.equal(service['books'])
    expect(status.observedGeneration).to.equal(2)
    expect(operator.exitCode).to.equal(undefined)
  })
})
