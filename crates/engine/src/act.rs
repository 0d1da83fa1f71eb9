//! What agents had the factory do on the forge. Each is safe to repeat from its beginning: an issue and a comment carry
//! the act's marker, and the rest says what is to be, not what is to change.

use crate::ports::forge::{By, NewComment, NewIssue};
use crate::ports::{PortResult, Ports};
use shopfloor_core::act::{Act, ActOrder};
use shopfloor_core::effect::outcome::Acted;
use shopfloor_core::forge::Subject;
use shopfloor_core::texts::{comments, markers};

pub(crate) fn perform(ports: &Ports, order: &ActOrder) -> PortResult<Acted> {
    let forge = ports.forges.of(&order.project)?;
    let (by, marker) = (By::Agent(order.role), markers::act(order.id));
    // The configuration names them, so the project is to have them.
    let labels: Vec<String> = order.what.labels().cloned().collect();
    if !labels.is_empty() {
        forge.ensure_labels(&labels)?;
    }
    let issue = match &order.what {
        Act::CreateIssue { title, body, labels, deps } => {
            let body = comments::by_agent(body, order.role, order.assignment, order.id);
            forge.create_issue(&NewIssue { by, marker: Some(&marker), title, body: &body, labels, deps })?
        }
        Act::Comment { issue, text } => {
            forge.comment(Subject::Issue(*issue), &NewComment { by, marker: Some(&marker), body: text })?;
            *issue
        }
        Act::Label { issue, add, remove } => {
            forge.edit_labels(*issue, add, remove)?;
            *issue
        }
        Act::Close { issue } => {
            forge.close_issue(*issue)?;
            *issue
        }
    };
    Ok(Acted { issue })
}
