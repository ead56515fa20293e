// The official Node SDK as its documentation shows it: an EventDispatcher behind adaptDefault on
// Node's own HTTP server. Its handler does nothing. Prints where it listens.
//
//     node peer.cjs FOLDER_WITH_NODE_MODULES PATH ENCRYPT_KEY VERIFICATION_TOKEN
const http = require('http');
const [folder, path, encryptKey, verificationToken] = process.argv.slice(2);
const lark = require(require.resolve('@larksuiteoapi/node-sdk', { paths: [folder] }));

const dispatcher = new lark.EventDispatcher({
    encryptKey,
    verificationToken,
    loggerLevel: lark.LoggerLevel.error,
}).register({ 'im.message.receive_v1': async () => {} });

// A longer life for idle connections than the 5 s of Node, so that none ends between two loads.
const server = http.createServer({ keepAliveTimeout: 60000 }, lark.adaptDefault(path, dispatcher));
server.listen(0, '127.0.0.1', () => console.log(`127.0.0.1:${server.address().port}`));
