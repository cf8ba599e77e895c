import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { readMediaFile } from '../../../../node/media/file-source.ts'
import { errorOf } from '../../../support/error-of.ts'

describe('media in files', () => {
  let base: string
  let allowed: string

  beforeEach(async () => {
    base = await mkdtemp(path.join(tmpdir(), 'media-'))
    allowed = path.join(base, 'allowed')
    await mkdir(path.join(allowed, 'deep'), { recursive: true })
    await mkdir(path.join(base, 'allowed-not'))
    await writeFile(path.join(allowed, 'a.txt'), 'inside')
    await writeFile(path.join(allowed, 'deep', 'ä b.txt'), 'deep inside')
    await writeFile(path.join(base, 'secret.txt'), 'outside')
    await writeFile(path.join(base, 'allowed-not', 'a.txt'), 'outside')
    await symlink(path.join(allowed, 'a.txt'), path.join(allowed, 'link-inside'))
    await symlink(path.join(base, 'secret.txt'), path.join(allowed, 'link-outside'))
    await symlink(base, path.join(allowed, 'directory-outside'))
    await symlink('/dev/zero', path.join(allowed, 'device'))
    execFileSync('mkfifo', [path.join(allowed, 'pipe')])
  })

  afterEach(() => rm(base, { recursive: true }))

  function read(url: URL | string, bytesMax = 1000, directories = [allowed]): Promise<Buffer> {
    return readMediaFile(new URL(url), {
      allowedDirectories: directories,
      bytesMax,
      memory: { add: () => undefined, release: () => undefined },
      signal: new AbortController().signal,
    })
  }
  const urlOf = (...parts: readonly string[]): URL => pathToFileURL(path.join(base, ...parts))

  it('are read under the allowed directories, through links that stay there', async () => {
    expect(String(await read(urlOf('allowed', 'a.txt')))).to.equal('inside')
    expect(String(await read(urlOf('allowed', 'deep', 'ä b.txt')))).to.equal('deep inside')
    expect(String(await read(urlOf('allowed', 'link-inside')))).to.equal('inside')
    expect(String(await read(`${urlOf('allowed').href}/deep/../a.txt`))).to.equal('inside')
  })

  it('are read under an allowed directory that is a link itself', async () => {
    await symlink(allowed, path.join(base, 'link'))

    expect(String(await read(urlOf('link', 'a.txt'), 1000, [path.join(base, 'link')]))).to.equal(
      'inside',
    )
  })

  const refusals: Readonly<Record<string, readonly [url: () => URL | string, why: string]>> = {
    'a file outside': [() => urlOf('secret.txt'), 'outside the allowed directories'],
    'a file outside that is not there': [
      () => urlOf('none.txt'),
      'outside the allowed directories',
    ],
    'a directory whose name only begins so': [
      () => urlOf('allowed-not', 'a.txt'),
      'outside the allowed',
    ],
    'a way up': [() => `${urlOf('allowed').href}/../secret.txt`, 'outside the allowed directories'],
    'a way up in escapes': [
      () => `${urlOf('allowed').href}/%2e%2e/secret.txt`,
      'outside the allowed',
    ],
    'a slash in escapes': [
      () => `${urlOf('allowed').href}/..%2fsecret.txt`,
      'is not the URL of a file',
    ],
    'a link to the outside': [
      () => urlOf('allowed', 'link-outside'),
      'outside the allowed directories',
    ],
    'a way through a link': [
      () => urlOf('allowed', 'directory-outside', 'secret.txt'),
      'outside the allowed',
    ],
    'a device': [() => urlOf('allowed', 'device'), 'outside the allowed directories'],
    'a pipe': [() => urlOf('allowed', 'pipe'), 'is not a regular file'],
    'a directory': [() => urlOf('allowed', 'deep'), 'is not a regular file'],
    'the allowed directory itself': [() => urlOf('allowed'), 'outside the allowed directories'],
    'a file that is not there': [() => urlOf('allowed', 'none.txt'), 'cannot be read (ENOENT)'],
    'another host': [() => 'file://host/etc/passwd', 'must not name a host'],
    'a system file': [() => 'file:///etc/passwd', 'outside the allowed directories'],
    'a NUL': [() => 'file:///etc/passwd%00.png', 'outside the allowed directories'],
  }
  for (const [what, [url, why]] of Object.entries(refusals)) {
    it(`are refused: ${what}`, async () => {
      const error = await errorOf(() => read(url()))

      expect(error).to.have.property('code', 'INVALID_ARGUMENT')
      expect(error).to.have.property('message').that.includes(why)
    })
  }

  it('are refused above the limit of bytes, and where no directory is allowed', async () => {
    const large = await errorOf(() => read(urlOf('allowed', 'a.txt'), 5))
    const none = await errorOf(() => read(urlOf('allowed', 'a.txt'), 5, []))

    expect(large).to.have.property('message', 'it is larger than 5 bytes')
    expect(none).to.have.property('message', 'file: is not allowed here')
  })
})
