import { expect } from 'chai'
import { BuiltinThread } from '../../../../../inference/pipelines/builtin/builtin-thread.ts'
import { buildChunkSettings } from '../../../../../inference/pipelines/builtin/chunk-settings.ts'

const NEVER = new AbortController().signal

describe('the thread of the built-in models', () => {
  it('passes over what nobody waits for any more', async () => {
    await using thread = new BuiltinThread()
    const settings = buildChunkSettings({})
    const text = 'one two three. '.repeat(100_000)
    const gone = new AbortController()
    const reason = new Error('gone')

    const first = thread.chunk(text, settings, NEVER)
    const abandoned = [
      thread.chunk(text, settings, gone.signal),
      thread.embed([text], 384, gone.signal),
    ].map((job) => job.catch((error: unknown) => error))
    const last = thread.embed(['hello'], 384, NEVER)
    gone.abort(reason)

    expect(await Promise.all(abandoned)).to.deep.equal([reason, reason])
    expect(await first).to.have.length(settings.maxChunks)
    expect(await last).to.have.length(1)
  })
})
