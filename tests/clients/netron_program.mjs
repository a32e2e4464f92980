// SPDX-License-Identifier: Apache-2.0
// Opens files by Netron's own readers, as its window does, and prints what it would draw:
// node netron_program.mjs FOLDER FILE..., where FOLDER has the scripts of the wheel `netron`.
import fs from 'fs';
import path from 'path';
import { pathToFileURL } from 'url';

const folder = path.resolve(process.argv[2]);
const load = (name) => import(pathToFileURL(path.join(folder, `${name.replace('./', '')}.js`)));
const base = await load('base');
const view = await load('view');

// What Netron's readers ask of the window around them.
const host = {
    type: 'Test',
    window: { addEventListener() {}, setTimeout, performance },
    document: { body: {}, addEventListener() {} },
    require: load,
    environment: () => undefined,
    event() {},
    exception(error) { throw error; },
    request: async (name, encoding) => fs.promises.readFile(path.join(folder, name), encoding),
};

class Context {
    constructor(file) {
        this.identifier = path.basename(file);
        this.folder = path.dirname(file);
        this.stream = new base.BinaryStream(new Uint8Array(fs.readFileSync(file)));
        this.entries = new Map([[this.identifier, this.stream]]);
    }
    async request(name, encoding, from) {
        return from === undefined
            ? fs.promises.readFile(path.join(this.folder, name), encoding)
            : host.request(name, encoding);
    }
    async require(id) { return load(id); }
    error(error) { throw error; }
}

for (const file of process.argv.slice(3)) {
    try {
        const model = await new view.ModelFactoryService(host).open(new Context(file));
        const graph = (model.modules || model.graphs)[0];
        const types = graph.nodes.map((node) => node.type.name);
        const names = (values) => values.map((argument) => argument.name).join(' ');
        console.log(`${path.basename(file)}: ${model.format}; inputs ${names(graph.inputs)}; outputs ${names(graph.outputs)}; ${types.join(' ')}`);
    } catch (error) {
        console.log(`${path.basename(file)}: ${error.name}: ${error.message}`);
    }
}
