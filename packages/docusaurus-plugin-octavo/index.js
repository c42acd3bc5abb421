// @ts-check
/**
 * Puts Octavo's widget on every page of a Docusaurus site, and sends the site to the service after a build.
 *
 * Options:
 *   url    address of the service
 *   book   id of the book, as the service has it
 *   key    public key for readers (`octavo keys create … --public`); none for a service on this machine
 *   push   true, or {keyFile} with the file of a key that may `ingest`: a build sends the site
 *   octavo the command that sends it; "octavo" by default
 */
'use strict';

const {spawnSync} = require('node:child_process');

/** @param {string} url */
function checkAddress(url) {
  if (!/^https?:\/\/[^\s]+$/.test(url)) {
    throw new Error(
      `docusaurus-plugin-octavo: "url" must be the address of an Octavo service, like https://octavo.example.org; got ${JSON.stringify(url)}`,
    );
  }
  return url.replace(/\/+$/, '');
}

/**
 * @param {{siteDir: string, siteConfig: {url: string, baseUrl: string}}} context
 * @param {{url?: string, book?: string, key?: string, push?: boolean | {keyFile?: string}, octavo?: string}} options
 */
module.exports = function octavoPlugin(context, options) {
  const url = checkAddress(options.url || '');
  const keyFile = typeof options.push === 'object' ? options.push.keyFile : undefined;

  return {
    name: 'docusaurus-plugin-octavo',

    injectHtmlTags() {
      /** @type {Record<string, string | boolean>} */
      const attributes = {src: `${url}/widget.js`, defer: true};
      if (options.book) attributes['data-book'] = options.book;
      if (options.key) attributes['data-key'] = options.key;
      return {postBodyTags: [{tagName: 'script', attributes}]};
    },

    async postBuild() {
      if (!options.push) return;
      const words = ['push', context.siteDir, '--url', url];
      if (options.book) words.push('--id', options.book);
      if (keyFile) words.push('--key-file', keyFile);
      const done = spawnSync(options.octavo || 'octavo', words, {stdio: 'inherit'});
      if (done.error) {
        throw new Error(`docusaurus-plugin-octavo: octavo cannot be started (${done.error.message})`);
      }
      if (done.status !== 0) {
        throw new Error('docusaurus-plugin-octavo: the site was built, but not sent; the message is above');
      }
    },
  };
};
