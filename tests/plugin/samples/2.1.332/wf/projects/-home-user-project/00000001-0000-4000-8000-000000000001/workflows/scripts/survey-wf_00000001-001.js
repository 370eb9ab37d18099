export const meta = {name: "survey", description: "read files", phases: [{title: "Read"}]};
phase("Read");
const items = [0,1,2,3];
const prompts = [
 'AGENT:{"files":["/home/user/project/f1.txt"],"text":"Report A"}',
 'AGENT:{"files":["/home/user/project/f1.txt"],"fail":"all","mode":"throttle"}',
 'AGENT:{"files":["/home/user/project/f2.txt"],"text":"Report C"}',
 'AGENT:{"files":["/home/user/project/f3.txt"],"after":1,"fail":"all","mode":"overload"}',
];
const out = await parallel(items.map(i => () => agent(prompts[i], {label: "item " + i, phase: "Read"})));
return out;
