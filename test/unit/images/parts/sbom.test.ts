import { expect } from 'chai'
import { buildSbom } from '../../../../images/parts/sbom.ts'

const MATERIALS = {
  version: '1.2.3',
  license: 'Apache-2.0',
  packages: [
    { path: '', name: '', locked: {}, needs: ['node_modules/@scope/a'] },
    {
      path: 'node_modules/@scope/a',
      name: '@scope/a',
      locked: { version: '2.0.0', license: 'MIT', integrity: 'sha512-AQID' },
      needs: [],
    },
  ],
  node: { version: '24.0.0', integrity: undefined },
  debian: [{ name: 'libstdc++6', version: '12.2.0-14' }],
  architecture: 'amd64',
}

describe('buildSbom', () => {
  it('lists packages of npm and of Debian, and Node', () => {
    const { components, metadata, dependencies } = JSON.parse(buildSbom(MATERIALS))

    expect(metadata.component).to.include({ name: 'quarry', version: '1.2.3' })
    expect(components.map(({ purl }: { purl: string }) => purl)).to.deep.equal([
      'pkg:npm/%40scope/a@2.0.0',
      'pkg:generic/node@24.0.0',
      'pkg:deb/debian/libstdc%2B%2B6@12.2.0-14?arch=amd64',
    ])
    expect(components[0].licenses).to.deep.equal([{ expression: 'MIT' }])
    expect(components[0].hashes).to.deep.equal([{ alg: 'SHA-512', content: '010203' }])
    expect(dependencies[0].dependsOn).to.include('node_modules/@scope/a').and.have.length(3)
  })

  it('is the same for the same content, with a serial number of its own for another', () => {
    const other = buildSbom({ ...MATERIALS, version: '1.2.4' })

    expect(buildSbom(MATERIALS)).to.equal(buildSbom(MATERIALS))
    expect(serialOf(other)).not.to.equal(serialOf(buildSbom(MATERIALS)))
    expect(serialOf(other)).to.match(
      /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/,
    )
  })
})

function serialOf(text: string): string {
  return JSON.parse(text).serialNumber
}
