import { expect } from 'chai'
import { choice, flag, integer, list, port, readOptions, text } from '../../../lib/options.ts'
import type { OptionTable } from '../../../lib/options.ts'
import { parseConfigFile } from '../../../lib/process/config-file.ts'

const TABLE = {
  dataDir: { variable: 'T_DIR', flag: '<dir>', value: text('./data'), help: '' },
  apiPort: { variable: 'T_PORT', flag: '<port>', value: port(80), help: '' },
  isOpen: { variable: 'T_OPEN', flag: '', value: flag(), help: '' },
  level: { variable: 'T_LEVEL', value: choice(['low', 'high'], 'low'), help: '' },
  names: { variable: 'T_NAMES', value: list(), help: '' },
  bytes: { variable: 'T_BYTES', value: integer({ default: 0, min: 10, orZero: true }), help: '' },
} as const satisfies OptionTable

function read(sources: {
  flags?: Record<string, string | boolean | undefined>
  env?: Record<string, string>
  file?: string
}) {
  const { flags, env = {}, file } = sources
  const settings =
    file === undefined ? undefined : parseConfigFile({ path: 'q.yaml', text: file }, TABLE)
  return readOptions(TABLE, { env, ...(flags === undefined ? {} : { flags }), file: settings })
}

describe('options of a program', () => {
  it('have defaults', () => {
    expect(read({})).to.deep.equal({
      dataDir: './data',
      apiPort: 80,
      isOpen: false,
      level: 'low',
      names: [],
      bytes: 0,
    })
  })

  it('come from flags before the environment, and from there before the file', () => {
    const config = read({
      flags: { dataDir: '/flag', isOpen: true, apiPort: undefined },
      env: { T_DIR: '/env', T_PORT: '1', T_NAMES: ' a, ,b' },
      file: 'data_dir: /file\napi_port: 2\nlevel: high\nbytes: 0',
    })

    expect(config).to.deep.equal({
      dataDir: '/flag',
      apiPort: 1,
      isOpen: true,
      level: 'high',
      names: ['a', 'b'],
      bytes: 0,
    })
  })

  it('are reported all at once, each by its own source', () => {
    const sources = {
      flags: { apiPort: 'abc', dataDir: '' },
      env: { T_OPEN: 'yes', T_BYTES: '9' },
      file: 'api_port: 1\nlevel: middle\nnonsense: 1\nnames: [a]',
    }

    expect(() => read(sources)).to.throw(
      [
        'invalid configuration:',
        '- q.yaml: nonsense: unknown setting; known are data_dir, api_port, is_open, level, names, bytes',
        '- q.yaml: names: must be a single value',
        '- --data-dir: "" is not a text of at least one character',
        '- --api-port: "abc" is not an integer from 0 to 65535',
        '- T_OPEN: "yes" is not one of false, true',
        '- q.yaml: level: "middle" is not one of low, high',
        `- T_BYTES: "9" is not 0 or an integer from 10 to ${Number.MAX_SAFE_INTEGER}`,
      ].join('\n'),
    )
  })

  it('may be given as JSON or as an empty file, but only as a mapping', () => {
    expect(read({ file: '{"api_port": 7}' }).apiPort).to.equal(7)
    expect(read({ file: '# nothing yet\n' }).apiPort).to.equal(80)
    expect(() => read({ file: '- a' })).to.throw('- q.yaml: the file must be a mapping of settings')
    expect(() => read({ file: 'a: b: c' })).to.throw(
      '- q.yaml: the file is not YAML: bad indentation of a mapping entry at line 1, column 5',
    )
    expect(() => read({ file: 'api_port: 7\n---\napi_port: 8' })).to.throw(
      '- q.yaml: the file must be one document of YAML, without "---"',
    )
    expect(() => read({ file: `a: &a 1\nb: [${'*a,'.repeat(101)}]` })).to.throw(
      /- q\.yaml: the file is not YAML: .*alias.* at line 2, column/,
    )
  })
})
