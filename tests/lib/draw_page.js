// SPDX-License-Identifier: BSD-3-Clause
// draw_page.js PAGE [WIDTH]: run the script of a latency page in node, on a minimal document, and print as JSON what it drew:
// whether it finished, the titles of its sections, the number of shapes, and values that are not numbers.
'use strict';
const fs = require('fs');
const vm = require('vm');

const [, , page, width] = process.argv;
const html = fs.readFileSync(page, 'utf8');
const scripts = [...html.matchAll(/<script([^>]*)>([\s\S]*?)<\/script>/g)];

class Element {
	constructor(name) {
		this.name = name;
		this.children = [];
		this.attributes = {};
		this.dataset = {};
		this.text = '';
	}
	get clientWidth() { return Number(width || 500); }
	setAttribute(key, value) { this.attributes[key] = String(value); }
	appendChild(child) { this.children.push(child); }
	set textContent(text) {
		this.text = String(text);
		this.children = [];
	}
	get textContent() { return this.text + this.children.map(child => child.textContent).join(''); }
	all() { return [this, ...this.children.flatMap(child => child.all())]; }
}

const root = new Element('html'), header = new Element('header'), main = new Element('main'), report = new Element('script');
report.text = scripts.find(script => script[1].includes('id="report"'))[2];
const document = {
	documentElement: root,
	title: '',
	getElementById: id => (id === 'report' ? report : null),
	querySelector: name => ({header: header, main: main})[name],
	createElement: name => new Element(name),
	createElementNS: (_, name) => new Element(name),
};
const window = {innerWidth: Number(width || 500), addEventListener: () => undefined};

vm.runInNewContext(scripts[scripts.length - 1][2], {document: document, window: window});
const elements = [...header.all(), ...main.all()];
const texts = elements.flatMap(element => [element.text, ...Object.values(element.attributes)]);
console.log(JSON.stringify({
	drawn: root.dataset.drawn === 'yes',
	title: document.title,
	sections: elements.filter(element => element.name === 'h2').map(element => element.text),
	shapes: elements.filter(element => /^(path|rect|circle)$/.test(element.name) && element.attributes.d !== '').length,
	no_numbers: texts.filter(text => /NaN|Infinity|undefined|null/.test(text)).slice(0, 5),
	head: header.textContent,
	text: main.textContent,
}));
