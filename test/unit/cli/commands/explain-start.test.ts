import { expect } from 'chai'
import { CliError } from '../../../../cli/process/exit.ts'
import { explainStart } from '../../../../cli/commands/explain-start.ts'

const FLAGS = '--port and --health-port'

function systemError(members: object): Error {
  return Object.assign(new Error('EIO: i/o error, open'), { syscall: 'open', ...members })
}

const CASES: Readonly<Record<string, { readonly members: object; readonly said: RegExp }>> = {
  'a port that is in use': {
    members: { code: 'EADDRINUSE', syscall: 'listen', port: 8080 },
    said: /^port 8080 is in use: .* --port and --health-port$/,
  },
  'a port below 1024': {
    members: { code: 'EACCES', syscall: 'listen', port: 80 },
    said: /^this user may not listen on port 80: .* --port and --health-port$/,
  },
  'a host without an address': {
    members: { code: 'ENOTFOUND', syscall: 'getaddrinfo', hostname: 'nohost' },
    said: /^host nohost is not known: .*--host$/,
  },
  'an address of another machine': {
    members: { code: 'EADDRNOTAVAIL', syscall: 'listen', address: '192.0.2.1' },
    said: /^host 192\.0\.2\.1 is not an address of this machine: .*--host$/,
  },
  'a file that may not be read': {
    members: { code: 'EACCES' },
    said: /^cannot start: EIO: i\/o error, open$/,
  },
}

describe('an error at the start of a server', () => {
  for (const [name, { members, said }] of Object.entries(CASES)) {
    it(`is explained as wrong configuration: ${name}`, () => {
      const explained = explainStart(systemError(members), FLAGS)

      expect(explained).to.be.instanceOf(CliError)
      expect(explained).to.have.property('exitCode', 78)
      expect(explained).to.have.property('message').that.matches(said)
    })
  }

  it('is passed on unchanged if it is a defect of the program', () => {
    const mistake = new TypeError('x is not a function')

    expect(explainStart(mistake, FLAGS)).to.equal(mistake)
  })
})
