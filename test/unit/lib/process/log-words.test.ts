import { expect } from 'chai'
import { logWords, shownLine } from '../../../../lib/process/log-words.ts'

describe('a line of a log on a terminal', () => {
  it('has its level, its message and its fields, on one line', () => {
    const line = '{"level":"warn","time":"2026","pid":1,"msg":"slow","path":"/a","at":{"x":[1]}}\n'

    expect(shownLine(line)).to.equal('warn  slow path=/a at={"x":[1]}')
  })

  it('does not control the terminal', () => {
    const line = JSON.stringify({ level: 'info', msg: 'a', key: '\u001b[2Jb\u202ec\n' })

    expect(shownLine(line)).to.equal('info  a key= [2Jb c')
  })

  it('is shown as it is when it is none', () => {
    expect(shownLine('Error: at\n')).to.equal('Error: at')
    expect(logWords('{"level":"info"}')).to.equal(undefined)
    expect(logWords('{"half')).to.equal(undefined)
  })
})
