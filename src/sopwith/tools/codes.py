"""The codes of all problems of tools and their sources, with a short title. `docs/diagnostics.md` explains each."""

from __future__ import annotations

from sopwith.errors import Text

TOOL_CODES: dict[str, Text] = {
    "SW430": Text("a tool whose schema cannot be used", "工具的 schema 无法使用"),
    "SW431": Text("a schema that is too large", "schema 过大"),
    "SW432": Text("a schema that nothing satisfies", "没有值能满足的 schema"),
    "SW433": Text("a tool that is listed twice", "工具重复列出"),
    "SW434": Text("an operation that cannot be called", "无法调用的操作"),
    "SW435": Text("a setting of a source that fits nothing", "来源的设置没有对应的内容"),
    "SW436": Text("something of a source that is not used", "来源中未被使用的内容"),
    "SW437": Text("a tool whose name cannot be used", "工具名称无法使用"),
    "SW438": Text("a list of tools without end", "没有尽头的工具列表"),
    "SW439": Text("a source that does not start", "来源未能启动"),
    "SW440": Text("a tool without a description", "工具没有描述"),
    "SW441": Text("a description that does not say when", "描述没有说明何时使用"),
    "SW442": Text("a tool for several purposes", "一个工具有多种用途"),
    "SW443": Text("a parameter whose form is not said", "参数没有说明格式"),
    "SW444": Text("a result whose form is not said", "结果没有说明格式"),
    "SW445": Text("a name that says too little", "名称过于笼统"),
    "SW446": Text("two tools that a search cannot tell apart", "检索无法区分的两个工具"),
    "SW447": Text("an example that a tool refuses", "工具不接受的示例"),
}
