"""What each key of a procedure file means, in one sentence: the hover texts of editors."""

from __future__ import annotations

from sopwith.errors import Text

PROCEDURE_KEYS: dict[str, Text] = {
    "schema": Text("The version of this form.", "本格式的版本。"),
    "id": Text("The name of the procedure in code and logs.", "流程在代码和日志中的名称。"),
    "name": Text("What people call the procedure.", "流程的名称。"),
    "description": Text("What it is for, and what it is not for.", "流程处理什么、不处理什么。"),
    "examples": Text("Requests that belong to this procedure.", "属于本流程的请求示例。"),
    "tags": Text("Words to group procedures by.", "用于归类的标签。"),
    "tools": Text(
        "The tools that may be called; by default those that the steps name.",
        "允许调用的工具；默认是步骤中写到的工具。",
    ),
    "inputs": Text(
        "Each input by its name: a JSON Schema, and `from` for a fact of the run.",
        "按名称列出输入：JSON Schema，以及表示来源的 from。",
    ),
    "output": Text("The JSON Schema of the result.", "结果的 JSON Schema。"),
    "grip": Text(
        "How firmly the procedure holds the model: free, guide, bounded or strict.",
        "流程对模型的约束程度：free、guide、bounded 或 strict。",
    ),
    "guidance": Text(
        "Where the advice of grip guide comes from: static, the words of the edges.",
        "grip 为 guide 时建议的来源：static，即边上写明的文字。",
    ),
    "model": Text(
        "The role of the model that its steps ask, where they name none.", "步骤未写明时，其所用模型的角色。"
    ),
    "verify": Text("An expression that must be true at the end.", "结束时必须为真的表达式。"),
    "timeout": Text("How long a run may take, such as 2h.", "一次运行的时限，例如 2h。"),
    "start": Text("The id of the first step.", "第一个步骤的 id。"),
    "steps": Text("The steps by their ids.", "按 id 列出的步骤。"),
}

EDGE_KEYS: dict[str, Text] = {
    "to": Text("The id of the step to go to.", "要去的步骤的 id。"),
    "when": Text("An expression (CEL); the first true one wins.", "表达式（CEL），第一个为真者生效。"),
    "judge": Text("Words that a model decides on.", "由模型判断的文字条件。"),
    "otherwise": Text("The step to go to when no condition holds.", "其他条件都不成立时去的步骤。"),
    "guidance": Text(
        "Advice for taking this way, where the model chooses it: guide, bounded, or by `judge`.",
        "走这条路的建议；由模型选路时（guide、bounded 或 judge）会看到。",
    ),
    "pitfalls": Text(
        "Mistakes to avoid on this way, shown like `guidance`.", "走这条路要避免的错误，展示方式同 guidance。"
    ),
}

STEP_KEYS: dict[str, Text] = {
    "name": Text("What people call the step.", "步骤的名称。"),
    "do": Text("What is to be done, in words for the model.", "要做什么，写给模型看。"),
    "needs": Text("What the step needs, in words.", "步骤需要什么（文字）。"),
    "gives": Text("What the step gives, in words.", "步骤产出什么（文字）。"),
    "tool": Text("The one tool that the step calls, as source.tool.", "步骤调用的唯一工具，写作 来源.工具。"),
    "answer": Text("Write the final answer: what it must say.", "写最终答复：必须说明什么。"),
    "ask": Text("A question to a person; `returns` types the answer.", "向人提问；returns 给出回答的类型。"),
    "wait": Text(
        "Wait for one of: until (a time), for (a duration), event (something outside).",
        "等待其一：until（时间）、for（时长）、event（外部事件）。",
    ),
    "call": Text(
        "Run another procedure: its inputs `with`, and its `share` of the budget that is left.",
        "运行另一个流程：with 为其输入，share 为剩余预算的份额。",
    ),
    "each": Text(
        "Do the step for every item of the list `in`, called `as` there.",
        "对列表 in 的每一项执行本步骤，在步骤内以 as 称呼该项。",
    ),
    "script": Text("A script of the author.", "作者写的脚本。"),
    "code": Text("A script that the model writes.", "由模型编写的脚本。"),
    "with": Text(
        "Arguments of the tool: values, or text with ${expression}. The rest is the model's.",
        "工具的参数：值，或含 ${表达式} 的文本；其余由模型填写。",
    ),
    "uses": Text(
        "The names that the model sees; by default those in `with` and `do`.",
        "模型能看到的名称；默认是 with 和 do 中用到的。",
    ),
    "returns": Text(
        "The JSON Schema of the value that a model, or a person who is asked, gives.",
        "模型（或被提问的人）给出的值的 JSON Schema。",
    ),
    "examples": Text(
        "Worked cases of this step: what it saw and the right answer.", "本步骤的样例：所见与正确答案。"
    ),
    "as": Text("The name of the result; by default the id of the step.", "结果的名称，默认是步骤的 id。"),
    "tools": Text(
        "Of a free step: the tools that it may call, of those permitted.",
        "用于 free 步骤：可用的工具（在允许范围内）。",
    ),
    "verify": Text("An expression that must be true after the step.", "步骤之后必须为真的表达式。"),
    "retry": Text("How often to try again, and after which errors.", "失败后重试的次数和适用的错误。"),
    "timeout": Text("How long the step may take, such as 20s.", "步骤的时限，例如 20s。"),
    "visits": Text("How often a run may enter the step.", "一次运行中最多进入本步骤几次。"),
    "min_confidence": Text(
        "Below this probability a choice counts as `otherwise`, or goes to a person.",
        "选择的概率低于此值时走 otherwise 或转人工。",
    ),
    "approval": Text(
        "The role that must give leave for what the step calls, whatever the policy allows.",
        "无论策略是否允许，本步骤的调用都须由该角色批准。",
    ),
    "grip": Text("The grip of this step.", "本步骤的约束程度。"),
    "guidance": Text("As for the procedure, for this step.", "同流程的 guidance，仅用于本步骤。"),
    "model": Text("The role of the model that is asked here.", "本步骤所用模型的角色。"),
    "pitfalls": Text("Mistakes to avoid in this step.", "本步骤要避免的错误。"),
    "on_error": Text("Where to go when the step fails; like `next`.", "步骤失败时的去处；写法同 next。"),
    "next": Text("The next step, or a list of conditional ways on.", "下一步，或带条件的出边列表。"),
    "end": Text(
        "The run ends here: complete, or escalate to a person.",
        "运行到此结束：complete，或 escalate 转人工。",
    ),
    "result": Text("The output of the procedure, from expressions.", "用表达式给出流程的输出。"),
}
