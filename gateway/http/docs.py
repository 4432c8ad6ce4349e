"""`/docs`: the OpenAPI document as one page, with nothing loaded from elsewhere."""

DOCS_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>mnemolog API</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem;color:#222}
h1{font-size:1.6rem}details{border:1px solid #ddd;border-radius:6px;margin:.5rem 0;padding:.4rem .8rem}
summary{cursor:pointer}code,pre{font:14px/1.4 ui-monospace,monospace}
pre{background:#f6f6f4;padding:.6rem;overflow:auto}.method{display:inline-block;width:4rem;font-weight:600}
@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}pre{background:#242424}
details{border-color:#444}}
</style></head><body><h1>mnemolog API</h1><p id="about">Loading the OpenAPI document…</p>
<main id="calls"></main><p>The document itself: <a href="openapi.json">openapi.json</a></p>
<script>
const add=(parent,tag,text)=>{const e=document.createElement(tag);if(text)e.textContent=text;
parent.appendChild(e);return e};
fetch("openapi.json").then(r=>r.json()).then(doc=>{
about.textContent=doc.info.description;
for(const [path,calls] of Object.entries(doc.paths))for(const [method,call] of Object.entries(calls)){
const d=add(calls_,"details"),s=add(d,"summary");
add(s,"span",method.toUpperCase()).className="method";add(s,"code",path);
add(s,"span"," — "+(call.description||call.summary||"").split("\\n")[0]);
for(const p of call.parameters||[])add(d,"div",`${p.name} (${p.in}${p.required?", required":""})`);
const body=call.requestBody&&call.requestBody.content["application/json"];
if(body){add(d,"p","Body");add(d,"pre",JSON.stringify(body.example||body.schema,null,2))}
add(d,"p","Answers: "+Object.keys(call.responses).join(", "))}
}).catch(e=>{about.textContent="The OpenAPI document could not be loaded: "+e});
const calls_=document.getElementById("calls"),about=document.getElementById("about");
</script></body></html>
"""
